"""gunicorn --threads 4 flask_app:app"""

from flask import Flask

import work

app = Flask(__name__)


@app.route("/")
def view():
    return work.work()
