import uuid

from django.utils import timezone

from .models import AuditEntry


def event(action, target, client_ids, details):
    return {'action': action, 'target': target, 'client_ids': client_ids, 'details': details}


def record(request, events, actor=None):
    origin = {
        'occurred_at': timezone.now(),
        'request_id': str(uuid.uuid4()),
        'address': request.META['REMOTE_ADDR'],
        'actor_email': (actor or request.user).email,
    }
    AuditEntry.objects.bulk_create([AuditEntry(**origin, **each) for each in events])
