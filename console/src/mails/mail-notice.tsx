import { Anchor, Popover, Text } from '@mantine/core';
import { Notice } from '../components/notice.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** While the service has no mail server: one line that says that mails wait, and what to do about it. */
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
  const { sends_mail } = useSession();
  if (sends_mail) return null;
  return (
    <>
      Mails wait: no mail server is set up. <MailHelp />
    </>
  );
};

const LINKS = 'Pass the links of invitations on yourself: “Copy all links” copies them.';

/** What the user can do about it: superusers operate the service, admins have the links. */
export const MailHelp = () => {
  const { roles } = useSession();
  if (!mayDo(roles, 'manage-people')) return null;
  const title = roles.is_superuser ? 'How to set it up' : 'What you can do';
  return (
    <Popover width={320} position="bottom-start" withArrow trapFocus returnFocus>
      <Popover.Target>
        <Anchor component="button" type="button" size="sm" underline="always">
          {title}
        </Anchor>
      </Popover.Target>
      <Popover.Dropdown aria-label={title}>
        <Text size="sm" tabIndex={-1} data-autofocus>
          {roles.is_superuser &&
            'Set SMTP_URL to the address of your mail server, such as smtps://user:password@mail.example.com, and restart the service. Mails that wait are sent then. Until then: '}
          {LINKS}
        </Text>
      </Popover.Dropdown>
    </Popover>
  );
};
