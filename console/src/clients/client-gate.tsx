import { Skeleton, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { FormButtons } from '../components/form-buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';

type Gate = Outputs['clients']['gate'];
type Props = { id: number; isReadOnly: boolean; canClose: boolean };

/** Who may open the apps of a client. */
export const ClientGate = (props: Props) => {
  const gate = useQuery(trpc.clients.gate.queryOptions({ id: props.id }));
  return (
    <>
      <ProblemAlert error={gate.error} />
      {gate.isPending && <Skeleton height={200} />}
      {gate.data && <GateForm {...props} gate={gate.data} />}
    </>
  );
};

const valuesOf = ({ is_open, embed_origins }: Gate) => ({ is_open, origins: embed_origins.join('\n') });

const GateForm = ({ id, isReadOnly, canClose, gate }: Props & { gate: Gate }) => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: valuesOf(gate) });
  useUnsavedWork(form.isDirty());
  const update = useMutation(
    trpc.clients.updateGate.mutationOptions({
      onSuccess: (saved) => {
        form.setInitialValues(valuesOf(saved));
        form.reset();
        notifications.show({ message: 'Saved.' });
        void queryClient.invalidateQueries(trpc.clients.gate.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      },
    }),
  );
  const invalid = Object.values(fieldErrors(update.error)).flat().join(' ');
  const save = ({ is_open, origins }: ReturnType<typeof valuesOf>): void => {
    const embed_origins = origins.split(/\s+/).filter((origin) => origin !== '');
    update.mutate({ id, embed_origins, ...(canClose && { is_open }) });
  };
  return (
    <form onSubmit={form.onSubmit(save)}>
      <Stack className="card">
        <Switch
          label="Open"
          description="The apps of a closed client do not open, and its members do not see them. Only superusers close it."
          disabled={!canClose}
          {...form.getInputProps('is_open', { type: 'checkbox' })}
        />
        <Textarea
          label="Sites that may show its apps in frames"
          description="One address on each line, such as https://portal.example.com."
          autosize
          minRows={3}
          readOnly={isReadOnly}
          {...form.getInputProps('origins')}
          error={invalid || undefined}
        />
        {invalid === '' && <ProblemAlert error={update.error} />}
        {isReadOnly ? (
          <Text c="dimmed">Client admins and superusers change this.</Text>
        ) : (
          <FormButtons isDirty={form.isDirty()} isSaving={update.isPending} onDiscard={form.reset} />
        )}
      </Stack>
    </form>
  );
};
