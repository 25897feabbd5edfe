import { SimpleGrid, Skeleton, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Inputs, steward } from '../api.ts';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText, type FieldLabels } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { MailFrame } from '../mails/mail-frame.tsx';
import { type Client, useClientForm } from './use-client-form.ts';

type Props = { client: Client; isReadOnly: boolean };

const GROUPS = [
  {
    title: 'Mail',
    fields: [
      ['default_from_email', 'Sender of mails'],
      ['invitation_subject', 'Subject of invitations'],
      ['invitation_body', 'Text of invitations'],
    ],
  },
  {
    title: 'Login page',
    fields: [
      ['login_title', 'Title of the login page'],
      ['login_subtitle', 'Text of the login page'],
    ],
  },
  {
    title: 'Error pages',
    fields: [
      ['subtitle_404', 'Title of “not found”'],
      ['message_404', 'Text of “not found”'],
      ['subtitle_500', 'Title of “server error”'],
      ['message_500', 'Text of “server error”'],
    ],
  },
] as const;

type Group = (typeof GROUPS)[number]['title'];
type Field = (typeof GROUPS)[number]['fields'][number][0];

const LABELS = GROUPS.flatMap(({ fields }): FieldLabels<Field> => fields);

/** The texts that apply if the client has none. */
const DEFAULTS: Partial<Record<Field, string>> = {
  default_from_email: 'The sender of the service',
  invitation_subject: 'The default subject, as in the preview',
};

const DESCRIPTIONS: Partial<Record<Field, (client: Client) => string>> = {
  invitation_body: ({ name }) =>
    `Plain text between “You have been invited to ${name}.” and the link, which every invitation has.`,
};

const LONG: readonly Field[] = ['invitation_body', 'message_404', 'message_500'];

/** The texts of the mails and pages that people of a client see, each with its preview. */
export const ClientTexts = ({ client, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useClientForm('texts', client, LABELS);
  const { name, support_email } = client;
  const { default_from_email, invitation_subject, invitation_body } = form.values;
  const previews: Record<Group, ReactNode> = {
    Mail: (
      <InvitationPreview
        clientId={client.id}
        texts={{ name, support_email, default_from_email, invitation_subject, invitation_body }}
      />
    ),
    'Login page': <LoginPreview name={name} support_email={support_email} {...form.values} />,
    'Error pages': null,
  };
  const field = (name: Field, label: string) => {
    const props = {
      label,
      description: DESCRIPTIONS[name]?.(client),
      placeholder: DEFAULTS[name] ?? '',
      ...asText(isReadOnly),
      ...form.getInputProps(name),
    };
    return LONG.includes(name) ? (
      <Textarea key={name} autosize minRows={3} maxRows={12} {...props} />
    ) : (
      <TextInput key={name} {...props} />
    );
  };
  return (
    <form className="card" onSubmit={form.onSubmit((values) => update.mutate(values))} aria-label="Texts">
      <Stack gap="xl">
        {GROUPS.map(({ title, fields }) => (
          <Stack key={title} gap="sm">
            <Title order={3} size="h4">
              {title}
            </Title>
            <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
              <Stack gap="sm">{fields.map(([name, label]) => field(name, label))}</Stack>
              {previews[title]}
            </SimpleGrid>
          </Stack>
        ))}
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {dialog}
    </form>
  );
};

const TYPING_MS = 200;

type LoginTexts = { name: string; login_title: string; login_subtitle: string; support_email: string };

/** The texts of the login page as visitors see them. */
const LoginPreview = ({ name, login_title, login_subtitle, support_email }: LoginTexts) => (
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
const InvitationPreview = ({ clientId, texts }: { clientId: number; texts: MailTexts }) => {
  const [settled] = useDebouncedValue(JSON.stringify(texts), TYPING_MS);
  const { data: mail, error } = useQuery({
    queryKey: ['preview of the invitation mail', clientId, settled],
    queryFn: () => steward.api.clients.previewInvitation.mutate({ ...JSON.parse(settled), id: clientId }),
    placeholderData: keepPreviousData,
  });
  return (
    <Stack component="section" gap="xs" aria-label="Preview of the invitation mail">
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
