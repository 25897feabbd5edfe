import { Stack, Text, Title } from '@mantine/core';
import { HtmlPreview } from '../components/html-preview.tsx';

type LoginTexts = { name: string; login_title: string; login_subtitle: string; support_email: string };

/** The texts of the login page as its visitors see them. */
export const LoginPreview = ({ name, login_title, login_subtitle, support_email }: LoginTexts) => (
  <Stack component="section" className="card" gap="xs" aria-label="Preview of the login page">
    <Text c="dimmed" size="sm">
      Login page
    </Text>
    <Text fw={600}>{name}</Text>
    <Title order={3}>{login_title || 'Log in'}</Title>
    <Text>{login_subtitle}</Text>
    {support_email !== '' && <Text size="sm">Need help? Contact {support_email}.</Text>}
  </Stack>
);

type MailTexts = { default_from_email: string; invitation_subject: string; invitation_body: string };

export const InvitationPreview = ({ default_from_email, invitation_subject, invitation_body }: MailTexts) => (
  <Stack component="section" className="card" gap="xs" aria-label="Preview of the invitation mail">
    <Text c="dimmed" size="sm">
      Invitation mail
    </Text>
    <Text size="sm">From: {default_from_email || 'the sender of the service'}</Text>
    {invitation_subject !== '' && <Text fw={600}>{invitation_subject}</Text>}
    {invitation_body === '' ? (
      <Text c="dimmed">Without a text of your own, the service sends its standard invitation.</Text>
    ) : (
      <HtmlPreview title="Text of the invitation mail" html={invitation_body} />
    )}
  </Stack>
);
