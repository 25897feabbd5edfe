from datetime import timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.models import update_last_login
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import permissions
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import APIView

from .audit import event, record
from .models import App, Membership, UsageEntry, User
from .serializers import AppOut, UsageOut, UserChanges, UserOut


def users():
    return User.objects.prefetch_related(
        Prefetch('apps', App.objects.only('id').order_by('created_at', 'id')),
        Prefetch('memberships', Membership.objects.filter(is_admin=True).order_by('client_id'), 'offices'),
    )


class UserList(APIView):
    def get(self, request):
        found = users().order_by('id')
        if 'app' in request.query_params:
            found = found.filter(apps=get_object_or_404(App, slug=request.query_params['app']))
        return Response(UserOut(found, many=True).data)


class OneUser(APIView):
    def get(self, request, email):
        return Response(UserOut(get_object_or_404(users(), email=email)).data)

    def patch(self, request, email):
        changes = UserChanges(data=request.data)
        changes.is_valid(raise_exception=True)
        with transaction.atomic():
            self.change(request, email, dict(changes.validated_data))
        return Response(UserOut(users().get(email=email)).data)

    def change(self, request, email, fields):
        user = get_object_or_404(User.objects.select_for_update(), email=email)
        memberships = list(user.memberships.all())
        if any(membership.is_admin for membership in memberships):
            raise ValidationError({'email': 'a client admin'})
        ids = fields.pop('apps', None)
        clients = [membership.client_id for membership in memberships]
        events = self.set_fields(user, clients, fields)
        if ids is not None:
            events += self.set_apps(user, ids)
        record(request, events)

    def set_fields(self, user, clients, fields):
        details = {
            name: {'from': getattr(user, name), 'to': value}
            for name, value in fields.items()
            if getattr(user, name) != value
        }
        for name, value in fields.items():
            setattr(user, name, value)
        user.save(update_fields=list(fields))
        return [event('user.update', user.email, clients, details)] if details else []

    def set_apps(self, user, ids):
        before = list(user.apps.order_by('created_at', 'id'))
        after = list(App.objects.filter(id__in=ids).order_by('created_at', 'id'))
        if len(after) != len(set(ids)):
            raise ValidationError({'apps': 'unknown app'})
        user.apps.set(after)
        clients = sorted({app.client_id for app in after})
        Membership.objects.bulk_create(
            [Membership(user=user, client_id=client) for client in clients], ignore_conflicts=True
        )
        granted = [app for app in after if app not in before]
        revoked = [app for app in before if app not in after]
        return [
            event('user.change-apps', user.email, [client], {
                'granted': [app.id for app in granted if app.client_id == client],
                'revoked': [app.id for app in revoked if app.client_id == client],
            })
            for client in sorted({app.client_id for app in granted + revoked})
        ]


class AppUsage(APIView):
    def get(self, request, app_id):
        app = get_object_or_404(App, id=app_id)
        since = timezone.now() - timedelta(days=int(request.query_params.get('window', 30)))
        entries = UsageEntry.objects.filter(app=app, occurred_at__gte=since).order_by('-occurred_at', '-id')
        return Response(UsageOut(entries, many=True).data)


class AppList(APIView):
    def get(self, request):
        apps = App.objects.select_related('window').order_by('created_at', 'id')
        return Response(AppOut(apps, many=True).data)


class Login(APIView):
    permission_classes = [permissions.AllowAny]
    authentication_classes = []

    def post(self, request):
        user = authenticate(request, email=request.data.get('username'), password=request.data.get('password'))
        if user is None:
            return Response({'detail': 'bad credentials'}, status=400)
        with transaction.atomic():
            update_last_login(None, user)
            clients = [membership.client_id for membership in user.memberships.all()]
            record(request, [event('login.token', user.email, clients, {})], actor=user)
            token, _ = Token.objects.get_or_create(user=user)
        return Response({'token': token.key})


def health(request):
    return HttpResponse('{"status":"ok"}', content_type='application/json')
