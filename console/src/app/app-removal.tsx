import { useMutation, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { RemovalForm, RemovalPanel, useRemoval } from '../removal/removal-panel.tsx';

type Props = { id: string; label: string; isClosed: boolean };

/** Only for superusers. */
export const AppRemoval = ({ id, label, isClosed }: Props) => (
  <RemovalPanel noun="app" name={label} isClosed={isClosed} closing="Put the app into maintenance first.">
    {(close) => <Form id={id} onClose={close} />}
  </RemovalPanel>
);

const Form = ({ id, onClose }: { id: string; onClose: () => void }) => {
  const preview = useQuery(trpc.apps.previewRemoval.queryOptions({ app_id: id }, { gcTime: 0 }));
  const { onError, onRemoved, prompt } = useRemoval('/apps');
  const remove = useMutation(
    trpc.apps.remove.mutationOptions({
      onSuccess: (_done, { confirm_name }) => onRemoved(confirm_name),
      onError: (error, input) => onError(error, () => remove.mutate(input)),
    }),
  );
  const mutate = (name: string): void => remove.mutate({ app_id: id, confirm_name: name });
  return (
    <>
      <RemovalForm noun="app" preview={preview} remove={{ ...remove, mutate }} onClose={onClose} />
      {prompt}
    </>
  );
};
