import json
import os

_settings = json.loads(os.environ['PEER_SETTINGS'])
_connection = _settings['connection']

BASE_URL = _settings['baseUrl']
SECRET_KEY = 'unused'
DEBUG = False
ALLOWED_HOSTS = ['*']
ROOT_URLCONF = 'peer.views'
INSTALLED_APPS = [
    'django.contrib.contenttypes',
    'django.contrib.auth',
    'rest_framework',
    'rest_framework.authtoken',
    'peer',
]
MIDDLEWARE = [
    'django.middleware.security.SecurityMiddleware',
    'django.middleware.common.CommonMiddleware',
]
DATABASES = {
    'default': {
        'ENGINE': 'django.db.backends.postgresql',
        'HOST': _connection['host'],
        'PORT': _connection['port'],
        'USER': _connection['user'],
        'PASSWORD': _connection['password'],
        'NAME': _connection['database'],
        'CONN_MAX_AGE': None,
        'OPTIONS': {'options': '-c search_path=public,bench_django,bench_peers'},
    }
}
AUTH_USER_MODEL = 'peer.User'
USE_TZ = True
TIME_ZONE = 'UTC'
USE_I18N = False
DEFAULT_AUTO_FIELD = 'django.db.models.BigAutoField'
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
REST_FRAMEWORK = {
    'DEFAULT_AUTHENTICATION_CLASSES': ['rest_framework.authentication.TokenAuthentication'],
    'DEFAULT_PERMISSION_CLASSES': ['rest_framework.permissions.IsAdminUser'],
    'DEFAULT_RENDERER_CLASSES': ['rest_framework.renderers.JSONRenderer'],
    'DEFAULT_PARSER_CLASSES': ['rest_framework.parsers.JSONParser'],
}
