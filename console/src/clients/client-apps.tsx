import { Checkbox, Skeleton, Stack, Text, Textarea, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { FlagText } from '../components/flag-field.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { type Client, useClientForm } from './use-client-form.ts';

type Gate = Outputs['clients']['gate'];
type Props = { id: number; isReadOnly: boolean };

type AppsProps = { client: Client; isReadOnly: boolean };

/** Where the apps of a client may be opened, and as whom. */
export const ClientApps = ({ client, isReadOnly }: AppsProps) => (
  <Stack>
    <ClientGate id={client.id} isReadOnly={isReadOnly} />
    <ViewAsSettings client={client} isReadOnly={isReadOnly} />
  </Stack>
);

const ClientGate = (props: Props) => {
  const gate = useQuery(trpc.clients.gate.queryOptions({ id: props.id }));
  return (
    <>
      <ProblemAlert error={gate.error} />
      {gate.isPending && <Skeleton height={200} />}
      {gate.data && <GateForm {...props} gate={gate.data} />}
    </>
  );
};

const valuesOf = ({ embed_origins }: Gate) => ({ origins: embed_origins.join('\n') });

const GateForm = ({ id, isReadOnly, gate }: Props & { gate: Gate }) => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: valuesOf(gate) });
  useUnsavedWork(form.isDirty());
  const update = useMutation(
    trpc.clients.updateGate.mutationOptions({
      onSuccess: (saved) => {
        form.setInitialValues(valuesOf(saved));
        form.reset();
        void queryClient.invalidateQueries(trpc.clients.gate.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      },
    }),
  );
  const invalid = Object.values(fieldErrors(update.error)).flat().join(' ');
  const save = ({ origins }: ReturnType<typeof valuesOf>): void => {
    update.mutate({ id, embed_origins: origins.split(/\s+/).filter((origin) => origin !== '') });
  };
  return (
    <form className="card" aria-label="Frames" onSubmit={form.onSubmit(save)}>
      <Stack maw={640}>
        <Textarea
          label="Sites that may show its apps in frames"
          description="One address per line, such as https://portal.example.com."
          autosize
          minRows={3}
          {...asText(isReadOnly)}
          {...form.getInputProps('origins')}
          error={invalid || undefined}
        />
        {isReadOnly && <Text c="dimmed">Only client admins and superusers can change this.</Text>}
      </Stack>
      {!isReadOnly && (
        <StickyFormButtons
          isDirty={form.isDirty()}
          isSaving={update.isPending}
          isSaved={update.isSuccess}
          problem={invalid === '' ? update.error : null}
          onDiscard={form.reset}
        />
      )}
    </form>
  );
};

const FLAGS = [
  ['help_desk_may_view_as', 'The help desk may view apps as members'],
  ['mail_view_as', 'Members get a mail when someone views an app as them'],
] as const;

/** Who else may look at apps as members, and whether the members get a mail. */
const ViewAsSettings = ({ client, isReadOnly }: AppsProps) => {
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
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {dialog}
    </form>
  );
};
