"""A command of Django that imports rows into SQLite, and commits each of them.

Usage: django_import.py SECONDS
"""

import json
import os
import sys
import tempfile
import time

import django
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection, models, transaction

FOLDER = tempfile.TemporaryDirectory(dir=os.environ.get("PYROMETER_TEST_DIR"))  # pylint: disable=consider-using-with
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(FOLDER.name, "rows.sqlite")}})
django.setup()


class Row(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        app_label = "feed"


# Time in which a thread does not run.
def waited():
    return time.monotonic() - time.thread_time()


class Command(BaseCommand):
    spent = 0.0

    def save(self, number):
        begun = waited()
        with transaction.atomic():  # the answer
            Row.objects.create(name="row %d" % number)
        self.spent += waited() - begun

    def add_arguments(self, parser):
        parser.add_argument("seconds", type=float)

    def handle(self, *_, seconds, **__):
        with connection.schema_editor() as schema:
            schema.create_model(Row)
        print("READY", flush=True)
        begun, used, idle = time.monotonic(), time.process_time(), waited()
        number = 0
        while time.monotonic() < begun + seconds:
            self.save(number)
            number += 1
        truth = {"seconds": time.monotonic() - begun, "processor": time.process_time() - used, "line": self.spent, "all": waited() - idle}
        print("TRUTH " + json.dumps(truth), flush=True)
        FOLDER.cleanup()
        # Work at the end of the program is no part of the truth.
        os._exit(0)


call_command(Command(), sys.argv[1])
