import { Alert } from '@mantine/core';
import { useSession } from '../layout/use-session.ts';

/** Says that mails stay in the queue, while the service has no mail server. */
export const MailNotice = () =>
  useSession().sends_mail ? null : (
    <Alert role="note" color="orange" variant="light" mb="md">
      Mails are not sent, because this service has no mail server (SMTP_URL). They stay queued. Client admins
      can copy the link of an invitation from its actions.
    </Alert>
  );
