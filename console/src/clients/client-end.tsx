import { Button, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { RemovalForm, RemovalPanel, useRemoval } from '../removal/removal-panel.tsx';

type Props = { id: number; name: string };

/** Closes a client for a while, or removes it. Only for superusers. */
export const ClientEnd = (props: Props) => (
  <>
    <ClientClosing {...props} />
    <ClientRemoval {...props} />
  </>
);

/** Closes a client after a question, or reopens it. */
const ClientClosing = ({ id, name }: Props) => {
  const [isAsking, { open, close }] = useDisclosure();
  const queryClient = useQueryClient();
  const gate = useQuery(trpc.clients.gate.queryOptions({ id }));
  const update = useMutation(
    trpc.clients.updateGate.mutationOptions({
      onSuccess: ({ is_open }) => notify(`${name} is ${is_open ? 'open' : 'closed'}.`),
      onSettled: () =>
        Promise.all(
          [trpc.clients.gate, trpc.access, trpc.apps, trpc.audit].map((part) =>
            queryClient.invalidateQueries(part.pathFilter()),
          ),
        ),
    }),
  );
  if (!gate.data) return <ProblemAlert error={gate.error} />;
  const isOpen = gate.data.is_open;
  return (
    <Stack className="card" align="flex-start">
      <Title order={2} size="h3">
        {isOpen ? 'Close this client' : 'Reopen this client'}
      </Title>
      <ProblemAlert error={update.error} />
      <Text>
        {isOpen
          ? 'While a client is closed, its members cannot see or open its apps. Nothing is deleted.'
          : 'Its members cannot see or open its apps now. Reopen it to bring everything back.'}
      </Text>
      <Button
        variant="default"
        loading={update.isPending}
        onClick={() => (isOpen ? open() : update.mutate({ id, is_open: true }))}
      >
        {isOpen ? `Close ${name}…` : `Reopen ${name}`}
      </Button>
      <ConfirmModal
        isOpen={isAsking}
        title={`Close ${name}?`}
        action="Close the client"
        onConfirm={() => update.mutate({ id, is_open: false })}
        onClose={close}
      >
        <Consequence id={id} />
      </ConfirmModal>
    </Stack>
  );
};

/** How many people would be kept out. */
const Consequence = ({ id }: { id: number }) => {
  const { data, error } = useQuery(trpc.users.count.queryOptions({ client: id, is_active: true }));
  const people = data?.count === 1 ? '1 person' : `${data?.count.toLocaleString() ?? '…'} people`;
  return (
    <>
      <ProblemAlert error={error} />
      <Text>Its apps close at once for {people}. They get them back when you reopen the client.</Text>
    </>
  );
};

const ClientRemoval = ({ id, name }: Props) => {
  const gate = useQuery(trpc.clients.gate.queryOptions({ id }));
  if (!gate.data) return null;
  return (
    <RemovalPanel noun="client" name={name} isClosed={!gate.data.is_open} closing="Close the client first.">
      {(close) => <Form id={id} onClose={close} />}
    </RemovalPanel>
  );
};

const Form = ({ id, onClose }: { id: number; onClose: () => void }) => {
  const preview = useQuery(trpc.clients.previewRemoval.queryOptions({ id }, { gcTime: 0 }));
  const { onError, onRemoved, prompt } = useRemoval('/clients');
  const remove = useMutation(
    trpc.clients.remove.mutationOptions({
      onSuccess: (_done, { confirm_name }) => onRemoved(confirm_name),
      onError: (error, input) => onError(error, () => remove.mutate(input)),
    }),
  );
  const mutate = (name: string): void => remove.mutate({ id, confirm_name: name });
  return (
    <>
      <RemovalForm noun="client" preview={preview} remove={{ ...remove, mutate }} onClose={onClose} />
      {prompt}
    </>
  );
};
