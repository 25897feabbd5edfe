import { Notice } from '../components/notice.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';

/** While the service has no mail server: explains that mails stay in the queue, and who can change that. */
export const MailNotice = () => {
  const { sends_mail } = useSession();
  return sends_mail ? null : (
    <Notice>
      <MailHint />
    </Notice>
  );
};

/** Only the text. Renders nothing if the service has a mail server. */
export const MailHint = () => {
  const { sends_mail, roles } = useSession();
  if (sends_mail) return null;
  return (
    <>
      Mails are not sent and stay queued, because this service has no mail server.{' '}
      {roles.is_superuser
        ? 'The setting SMTP_URL names one.'
        : 'Ask the operator of this service to set one up.'}
      {mayDo(roles, 'manage-people') &&
        ' Until then, “Show the link” in the actions of an invitation shows what you can pass on yourself.'}
    </>
  );
};
