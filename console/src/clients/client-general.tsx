import { Stack, TextInput } from '@mantine/core';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { type Client, useClientForm } from './use-client-form.ts';

const GENERAL = [
  ['name', 'Name'],
  ['support_email', 'Support address'],
  ['home_location', 'Where people go after the login'],
] as const;

type Props = { client: Client; isReadOnly: boolean };

/** The name of a client, and where its people find it. */
export const ClientGeneral = ({ client, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useClientForm('general', client, GENERAL);
  return (
    <form className="card" onSubmit={form.onSubmit((values) => update.mutate(values))} aria-label="General">
      <Stack gap="sm" maw={520}>
        <TextInput
          label="Site"
          description="The host name of its pages. It does not change."
          {...asText(true)}
          value={client.site.domain}
        />
        {GENERAL.map(([field, label]) => (
          <TextInput key={field} label={label} {...asText(isReadOnly)} {...form.getInputProps(field)} />
        ))}
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {dialog}
    </form>
  );
};
