"""An application for Celery, whose workers have no jobs."""

import celery  # pylint: disable=import-error

app = celery.Celery(broker="memory://")
