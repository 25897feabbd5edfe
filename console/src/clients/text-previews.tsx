import { Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Inputs, steward } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { MailFrame } from '../mails/mail-frame.tsx';

const TYPING_MS = 200;

type LoginTexts = { name: string; login_title: string; login_subtitle: string; support_email: string };

/** The texts of the login page as visitors see them. */
export const LoginPreview = ({ name, login_title, login_subtitle, support_email }: LoginTexts) => (
  <Stack component="section" className="card" gap="xs" aria-label="Preview of the login page">
    <Text c="dimmed" size="sm">
      Login page
    </Text>
    <Text fw={600}>{name}</Text>
    <Title order={3}>{login_title || `Welcome to ${name}`}</Title>
    <Text>{login_subtitle}</Text>
    {support_email !== '' && <Text size="sm">Need help? Contact {support_email}.</Text>}
  </Stack>
);

type MailTexts = Omit<Inputs['clients']['previewInvitation'], 'id'>;

/** The invitation mail as the service would send it with these texts. */
export const InvitationPreview = ({ clientId, texts }: { clientId: number; texts: MailTexts }) => {
  const [settled] = useDebouncedValue(JSON.stringify(texts), TYPING_MS);
  const { data: mail, error } = useQuery({
    queryKey: ['preview of the invitation mail', clientId, settled],
    queryFn: () => steward.api.clients.previewInvitation.mutate({ ...JSON.parse(settled), id: clientId }),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack component="section" className="card" gap="xs" aria-label="Preview of the invitation mail">
      <Text c="dimmed" size="sm">
        Invitation mail
      </Text>
      {/* Errors of fields are shown at the fields after saving. */}
      {!mail && (error ? <ProblemAlert error={error} /> : <Skeleton height={240} />)}
      {mail && (
        <>
          <Text size="sm" className="break-words">{`From: ${mail.from.name} <${mail.from.address}>`}</Text>
          <Text fw={600}>{mail.subject}</Text>
          <MailFrame title="Invitation mail" mail={mail} />
        </>
      )}
    </Stack>
  );
};
