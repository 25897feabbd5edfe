import { Anchor, Popover, Text } from '@mantine/core';
import { Notice } from '../components/notice.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** While the service has no mail server: one line that says that mails wait, and how to change that. */
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
      Mails wait: no mail server is set up.{' '}
      <Popover width={320} position="bottom-start" withArrow trapFocus returnFocus>
        <Popover.Target>
          <Anchor component="button" type="button" size="sm" underline="always">
            How to set it up
          </Anchor>
        </Popover.Target>
        <Popover.Dropdown aria-label="How to set it up">
          <Text size="sm" tabIndex={-1} data-autofocus>
            {roles.is_superuser
              ? 'Set SMTP_URL to the address of your mail server, such as smtps://user:password@mail.example.com, and restart the service. Mails that wait are sent then.'
              : 'Ask the operator of this service to set up a mail server. Mails that wait are sent then.'}
            {mayDo(roles, 'manage-people') &&
              ' Until then, pass the links of invitations on yourself: “Copy all links” copies them.'}
          </Text>
        </Popover.Dropdown>
      </Popover>
    </>
  );
};
