import { Skeleton, Stack, Text, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { FormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';

type Gate = Outputs['clients']['gate'];
type Props = { id: number; isReadOnly: boolean };

/** Where the apps of a client may be opened. */
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
    <form onSubmit={form.onSubmit(save)}>
      <Stack className="card">
        <Textarea
          label="Sites that may show its apps in frames"
          description="One address on each line, such as https://portal.example.com."
          autosize
          minRows={3}
          {...asText(isReadOnly)}
          {...form.getInputProps('origins')}
          error={invalid || undefined}
        />
        {isReadOnly ? (
          <Text c="dimmed">Client admins and superusers change this.</Text>
        ) : (
          <FormButtons
            isDirty={form.isDirty()}
            isSaving={update.isPending}
            isSaved={update.isSuccess}
            problem={invalid === '' ? update.error : null}
            onDiscard={form.reset}
          />
        )}
      </Stack>
    </form>
  );
};
