"""A Django project in one file: gunicorn django_app:application."""

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

import work

settings.configure(DEBUG=False, SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
                   MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.security.SecurityMiddleware"])


def view(request):
    return HttpResponse(work.work())


urlpatterns = [path("", view)]
django.setup()
application = get_wsgi_application()
