import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import APIView

from .audit import event, record
from .models import App, Invitation, InvitationApp, Membership, OutboxMail
from .serializers import InvitationIn, InvitationOut
from .views import users


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
