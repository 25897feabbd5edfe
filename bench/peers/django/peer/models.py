import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone


class Json(models.JSONField):
    """A column of type json, which the driver parses."""

    def from_db_value(self, value, expression, connection):
        return value


class App(models.Model):
    id = models.CharField(primary_key=True, max_length=8)
    client_id = models.IntegerField()
    slug = models.TextField(unique=True)
    label = models.TextField()
    description = models.TextField()
    help_html = models.TextField()
    footer_html = models.TextField()
    show_help = models.BooleanField()
    show_footer = models.BooleanField()
    in_maintenance = models.BooleanField()
    maintenance_message = models.TextField()
    package_info = Json()
    created_at = models.DateTimeField()

    class Meta:
        managed, db_table = False, 'apps'


class User(AbstractBaseUser):
    id = models.AutoField(primary_key=True)
    password = models.TextField(db_column='password_hash', null=True)
    email = models.TextField(unique=True)
    handle = models.TextField(unique=True)
    first_name = models.TextField()
    last_name = models.TextField()
    extra = Json()
    is_active = models.BooleanField()
    is_demo_user = models.BooleanField()
    is_staff = models.BooleanField()
    is_superuser = models.BooleanField()
    profile_color = models.TextField()
    profile_avatar = models.TextField(null=True)
    date_joined = models.DateTimeField()
    last_activated = models.DateTimeField(null=True)
    last_deactivated = models.DateTimeField(null=True)
    last_password_set = models.DateTimeField()
    apps = models.ManyToManyField(App, through='Grant')

    objects = BaseUserManager()
    USERNAME_FIELD = 'email'

    class Meta:
        managed, db_table = False, 'users'


class Grant(models.Model):
    # The key has two columns, of which Django knows one.
    user = models.ForeignKey(User, models.CASCADE, primary_key=True)
    app = models.ForeignKey(App, models.CASCADE)

    class Meta:
        managed, db_table = False, 'app_grants'


class Membership(models.Model):
    user = models.ForeignKey(User, models.CASCADE, primary_key=True, related_name='memberships')
    client_id = models.IntegerField()
    is_admin = models.BooleanField(default=False)

    class Meta:
        managed, db_table = False, 'memberships'


class Invitation(models.Model):
    id = models.AutoField(primary_key=True)
    client_id = models.IntegerField()
    email = models.TextField()
    key = models.TextField()
    inviter = models.ForeignKey(User, models.RESTRICT)
    extra = Json()
    is_demo_user = models.BooleanField()
    status = models.TextField(default='pending')
    date_invited = models.DateTimeField()
    expires_at = models.DateTimeField()
    email_count = models.IntegerField(default=0)

    class Meta:
        managed, db_table = False, 'invitations'


class InvitationApp(models.Model):
    invitation = models.ForeignKey(Invitation, models.CASCADE, primary_key=True)
    app = models.ForeignKey(App, models.CASCADE)

    class Meta:
        managed, db_table = False, 'invitation_apps'


class OutboxMail(models.Model):
    kind = models.TextField()
    recipient = models.TextField()
    client_id = models.IntegerField()
    invitation = models.ForeignKey(Invitation, models.CASCADE)
    attempts = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    next_attempt_at = models.DateTimeField()

    class Meta:
        managed, db_table = False, 'outbox_mails'


class AuditEntry(models.Model):
    occurred_at = models.DateTimeField()
    action = models.TextField()
    actor_label = models.TextField()
    target_label = models.TextField()
    client_ids = ArrayField(models.IntegerField())
    details = Json()
    request_id = models.TextField()
    address = models.TextField()

    class Meta:
        managed, db_table = False, 'audit_entries'


class UsageEntry(models.Model):
    occurred_at = models.DateTimeField()
    app = models.ForeignKey(App, models.DO_NOTHING)
    email = models.TextField()
    full_name = models.TextField()
    action = models.TextField()
    action_description = models.TextField()
    extra = Json()

    class Meta:
        managed, db_table = False, 'usage_entries'


class UsageWindow(models.Model):
    app = models.OneToOneField(App, models.CASCADE, primary_key=True, related_name='window')
    day = models.DateField()
    actions30 = models.IntegerField()
    users30 = models.IntegerField()
    actions60 = models.IntegerField()
    users60 = models.IntegerField()
    actions90 = models.IntegerField()
    users90 = models.IntegerField()

    class Meta:
        managed, db_table = False, 'counted_windows'


def event(action, target, client_ids, details):
    return {'action': action, 'target_label': target, 'client_ids': client_ids, 'details': details}


def record(request, events):
    origin = {
        'occurred_at': timezone.now(),
        'request_id': str(uuid.uuid4()),
        'address': request.META['REMOTE_ADDR'],
        'actor_label': request.user.email,
    }
    AuditEntry.objects.bulk_create([AuditEntry(**origin, **each) for each in events])
