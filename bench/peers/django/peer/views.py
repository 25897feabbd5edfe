import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import APIView

from .models import App, Invitation, InvitationApp, Membership, OutboxMail, UsageEntry, User, event, record
from .serializers import AppOut, InvitationIn, InvitationOut, UsageOut, UserChanges, UserOut


def users():
    return User.objects.prefetch_related(
        Prefetch('apps', App.objects.only('id').order_by('created_at', 'id')),
        Prefetch('memberships', Membership.objects.filter(is_admin=True).order_by('client_id'), 'admin_memberships'),
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
            raise ValidationError({'email': 'is a client admin'})
        ids = fields.pop('apps', None)
        clients = [membership.client_id for membership in memberships]
        events = self.set_fields(user, clients, fields)
        if ids is not None:
            events += self.set_apps(user, ids)
        record(request, events)

    def set_fields(self, user, clients, fields):
        details = {
            name: {'from': None, 'to': None}
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


class Invitations(APIView):
    def post(self, request):
        elements = InvitationIn(data=request.data, many=True)
        elements.is_valid(raise_exception=True)
        asked = elements.validated_data
        apps = self.check(asked)
        inviter = users().get(pk=request.user.pk)
        with transaction.atomic():
            made = self.make(asked, inviter)
            record(request, [
                event('invitation.create', invitation.email, [invitation.client_id], {
                    'id': invitation.id,
                    'apps': element['initial_apps'],
                })
                for invitation, element in zip(made, asked)
            ])
        for invitation, element in zip(made, asked):
            invitation.initial_apps = sorted(element['initial_apps'], key=lambda app: (apps[app].created_at, app))
        return Response(InvitationOut(made, many=True).data)

    def check(self, asked):
        apps = {app.id: app for app in App.objects.filter(id__in={app for e in asked for app in e['initial_apps']})}
        if any(app not in apps or apps[app].client_id != e['client'] for e in asked for app in e['initial_apps']):
            raise ValidationError({'initial_apps': 'unknown app'})
        emails = [element['email'] for element in asked]
        pairs = {(element['client'], element['email']) for element in asked}
        members = Membership.objects.filter(user__email__in=emails, user__is_active=True)
        pending = Invitation.objects.filter(email__in=emails, status='pending')
        taken = {*members.values_list('client_id', 'user__email'), *pending.values_list('client_id', 'email')}
        if pairs & taken or len(pairs) < len(asked):
            raise ValidationError({'email': 'a member or invited'})
        return apps

    def make(self, asked, inviter):
        now = timezone.now()
        made = Invitation.objects.bulk_create([
            Invitation(
                client_id=element['client'],
                email=element['email'],
                key=secrets.token_urlsafe(24),
                inviter=inviter,
                extra=element['extra'],
                is_demo_user=element['is_demo_user'],
                date_invited=now,
                expires_at=now + timedelta(days=14),
            )
            for element in asked
        ])
        InvitationApp.objects.bulk_create([
            InvitationApp(invitation=invitation, app_id=app)
            for invitation, element in zip(made, asked)
            for app in element['initial_apps']
        ])
        OutboxMail.objects.bulk_create([
            OutboxMail(
                kind='invitation',
                recipient=invitation.email,
                client_id=invitation.client_id,
                invitation=invitation,
                created_at=now,
                next_attempt_at=now,
            )
            for invitation in made
        ])
        return made


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


urlpatterns = [
    path('api/v1/jb/users/', UserList.as_view()),
    path('api/v1/jb/users/invitations/', Invitations.as_view()),
    path('api/v1/jb/users/<str:email>/', OneUser.as_view()),
    path('api/v1/jb/apps/', AppList.as_view()),
    path('api/v1/jb/apps/<str:app_id>/usage/', AppUsage.as_view()),
]
