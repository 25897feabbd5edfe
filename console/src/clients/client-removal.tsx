import { useMutation, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { RemovalForm, RemovalPanel, useRemoval } from '../removal/removal-panel.tsx';

type Props = { id: number; name: string };

/** Only for superusers. */
export const ClientRemoval = ({ id, name }: Props) => {
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
