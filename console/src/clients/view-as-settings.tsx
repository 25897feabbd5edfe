import { Checkbox, Stack, Title } from '@mantine/core';
import { FlagText } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { type Client, useClientForm } from './use-client-form.ts';

const FLAGS = [
  ['help_desk_may_view_as', 'The help desk may view apps as members'],
  ['mail_view_as', 'Members get a mail when someone views an app as them'],
] as const;

/** Who else may look at apps as members, and whether the members get a mail. */
export const ViewAsSettings = ({ client, isReadOnly }: { client: Client; isReadOnly: boolean }) => {
  const { form, update, buttons, dialog } = useClientForm('view-as', client, FLAGS);
  return (
    <form
      className="card"
      onSubmit={form.onSubmit((values) => update.mutate(values))}
      aria-label="View apps as members"
    >
      <Stack maw={520}>
        <Title order={2} size="h3">
          View apps as members
        </Title>
        {FLAGS.map(([field, label]) =>
          isReadOnly ? (
            <FlagText key={field} label={label} isOn={client[field]} />
          ) : (
            <Checkbox key={field} label={label} {...form.getInputProps(field, { type: 'checkbox' })} />
          ),
        )}
        {!isReadOnly && <FormButtons {...buttons} />}
      </Stack>
      {dialog}
    </form>
  );
};
