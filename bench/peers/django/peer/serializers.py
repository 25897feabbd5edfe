import re

from django.conf import settings
from rest_framework import serializers

from .models import App, Invitation, UsageEntry, User


class Instant(serializers.DateTimeField):
    def to_representation(self, value):
        return value and value.isoformat(timespec='milliseconds').replace('+00:00', 'Z')


class UserOut(serializers.ModelSerializer):
    profile_avatar = serializers.SerializerMethodField()
    apps = serializers.PrimaryKeyRelatedField(many=True, read_only=True)
    clientadmin_of = serializers.SerializerMethodField()
    last_login = Instant()
    date_joined = Instant()
    last_activated = Instant()
    last_deactivated = Instant()

    class Meta:
        model = User
        fields = [
            'email', 'handle', 'first_name', 'last_name', 'extra', 'is_active', 'is_demo_user',
            'profile_color', 'profile_avatar', 'apps', 'clientadmin_of',
            'last_login', 'date_joined', 'last_activated', 'last_deactivated',
        ]

    def get_profile_avatar(self, user):
        initial = re.search('[a-z0-9]', user.email)
        return user.profile_avatar or f'{settings.BASE_URL}/avatars/{initial.group() if initial else "x"}.svg'

    def get_clientadmin_of(self, user):
        return [membership.client_id for membership in user.admin_memberships]


class UserChanges(serializers.Serializer):
    first_name = serializers.CharField(max_length=150, required=False, allow_blank=True)
    last_name = serializers.CharField(max_length=150, required=False, allow_blank=True)
    apps = serializers.ListField(child=serializers.CharField(max_length=8), required=False)


class InvitationIn(serializers.Serializer):
    email = serializers.EmailField(max_length=254)
    client = serializers.IntegerField()
    extra = serializers.DictField(default=dict)
    initial_apps = serializers.ListField(child=serializers.CharField(max_length=8), default=list)
    is_demo_user = serializers.BooleanField(default=False)


class InvitationOut(serializers.ModelSerializer):
    user = UserOut(source='inviter')
    initial_apps = serializers.ListField(child=serializers.CharField())
    date_invited = Instant()
    invitation_email_count = serializers.IntegerField(source='email_count')
    is_demo_user = serializers.SerializerMethodField()

    class Meta:
        model = Invitation
        fields = [
            'id', 'user', 'email', 'key', 'initial_apps', 'extra', 'date_invited',
            'invitation_email_count', 'is_demo_user',
        ]

    def get_is_demo_user(self, invitation):
        return 'true' if invitation.is_demo_user else 'false'


class AppOut(serializers.ModelSerializer):
    usage = serializers.SerializerMethodField()

    class Meta:
        model = App
        fields = [
            'id', 'slug', 'label', 'description', 'help_html', 'footer_html', 'show_help', 'show_footer',
            'usage', 'package_info', 'in_maintenance', 'maintenance_message',
        ]

    def get_usage(self, app):
        window = getattr(app, 'window', None)
        return {
            days: {
                'actions': getattr(window, f'actions{days}', 0),
                'users': getattr(window, f'users{days}', 0),
            }
            for days in ('30', '60', '90')
        }


class UsageOut(serializers.ModelSerializer):
    timestamp = Instant(source='occurred_at')

    class Meta:
        model = UsageEntry
        fields = ['action_description', 'email', 'full_name', 'timestamp', 'action', 'extra']
