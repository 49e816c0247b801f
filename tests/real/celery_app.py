"""celery -A celery_app worker -P prefork; its broker is a folder."""

import os

from celery import Celery

import work

FOLDER = os.environ["REAL_FOLDER"]
app = Celery("celery_app", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": FOLDER, "data_folder_out": FOLDER, "control_folder": FOLDER}
app.conf.worker_prefetch_multiplier = 1
app.conf.task_ignore_result = True


@app.task
def task():
    for _ in range(50):
        work.work()


if __name__ == "__main__":
    for _ in range(200):
        task.delay()
