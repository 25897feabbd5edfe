import { SimpleGrid, Stack, Textarea, TextInput, Title } from '@mantine/core';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText, type FieldLabels } from '../components/form-fields.ts';
import { InvitationPreview, LoginPreview } from './text-previews.tsx';
import { type Client, useClientForm } from './use-client-form.ts';

const GROUPS = [
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
] as const;

type Field = (typeof GROUPS)[number]['fields'][number][0];

const LABELS = GROUPS.flatMap(({ fields }): FieldLabels<Field> => fields);

/** The texts that apply if the client has none. */
const DEFAULTS: Partial<Record<Field, string>> = {
  default_from_email: 'The sender of the service',
  invitation_subject: 'The usual subject, as in the preview',
  invitation_body: 'The usual text, as in the preview',
};

const LONG: readonly Field[] = ['invitation_body', 'message_404', 'message_500'];

const mailTextsOf = (texts: Pick<Client, Field>) => {
  const { name, default_from_email, invitation_subject, invitation_body, support_email } = texts;
  return { name, default_from_email, invitation_subject, invitation_body, support_email };
};

type Props = { client: Client; isReadOnly: boolean };

export const ClientTexts = ({ client, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useClientForm('texts', client, LABELS);
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <form className="card" onSubmit={form.onSubmit((values) => update.mutate(values))} aria-label="Texts">
        <Stack gap="lg">
          {GROUPS.map(({ title, fields }) => (
            <Stack key={title} gap="sm">
              <Title order={2} size="h3">
                {title}
              </Title>
              {fields.map(([field, label]) => {
                const placeholder = DEFAULTS[field] ?? '';
                const props = { label, placeholder, ...asText(isReadOnly), ...form.getInputProps(field) };
                return LONG.includes(field) ? (
                  <Textarea key={field} autosize minRows={3} maxRows={12} {...props} />
                ) : (
                  <TextInput key={field} {...props} />
                );
              })}
            </Stack>
          ))}
        </Stack>
        {!isReadOnly && <StickyFormButtons {...buttons} />}
        {dialog}
      </form>
      <Stack>
        <LoginPreview {...form.values} />
        <InvitationPreview clientId={client.id} texts={mailTextsOf(form.values)} />
      </Stack>
    </SimpleGrid>
  );
};
