import { SimpleGrid, Stack, Textarea, TextInput, Title } from '@mantine/core';
import { FormButtons } from '../components/form-buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { InvitationPreview, LoginPreview } from './text-previews.tsx';
import { type Client, useClientForm } from './use-client-form.ts';

const FIELDS = [
  'name',
  'support_email',
  'home_location',
  'login_title',
  'login_subtitle',
  'default_from_email',
  'invitation_subject',
  'invitation_body',
  'subtitle_404',
  'message_404',
  'subtitle_500',
  'message_500',
] as const;

type Field = (typeof FIELDS)[number];

const GROUPS: { title: string; fields: [Field, label: string][] }[] = [
  {
    title: 'Client',
    fields: [
      ['name', 'Name'],
      ['support_email', 'Support address'],
      ['home_location', 'Where people go after the login'],
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
    title: 'Invitation mail',
    fields: [
      ['default_from_email', 'Sender of mails'],
      ['invitation_subject', 'Subject of invitations'],
      ['invitation_body', 'Text of invitations'],
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
];

const LONG: readonly Field[] = ['invitation_body', 'message_404', 'message_500'];

type Props = { client: Client; isReadOnly: boolean };

export const ClientTexts = ({ client, isReadOnly }: Props) => {
  const { form, update, submit } = useClientForm(client, FIELDS);
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <form className="card" onSubmit={submit} aria-label="Texts">
        <Stack>
          <ProblemAlert error={update.error} />
          {GROUPS.map(({ title, fields }) => (
            <Stack key={title} gap="sm">
              <Title order={2} size="h4">
                {title}
              </Title>
              {fields.map(([field, label]) => {
                const props = { label, readOnly: isReadOnly, ...form.getInputProps(field) };
                return LONG.includes(field) ? (
                  <Textarea key={field} autosize minRows={3} maxRows={12} {...props} />
                ) : (
                  <TextInput key={field} {...props} />
                );
              })}
            </Stack>
          ))}
          {!isReadOnly && (
            <FormButtons isDirty={form.isDirty()} isSaving={update.isPending} onDiscard={form.reset} />
          )}
        </Stack>
      </form>
      <Stack>
        <LoginPreview {...form.values} />
        <InvitationPreview {...form.values} />
      </Stack>
    </SimpleGrid>
  );
};
