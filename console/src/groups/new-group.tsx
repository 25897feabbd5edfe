import { Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AppChecklist } from '../people/app-checklist.tsx';

type Props = { client: number; onClose: () => void };

/** Creates a group with its apps, and opens it, so that the user can add members. */
export const NewGroup = ({ client, onClose }: Props) => {
  const refresh = useAccessRefresh();
  const navigate = useNavigate();
  const form = useForm({ initialValues: { name: '', apps: [] as string[] } });
  const create = useMutation(
    trpc.groups.create.mutationOptions({
      onSuccess: async ({ id }) => {
        void refresh();
        onClose();
        const params = { client: String(client), group: String(id) };
        await navigate({ to: '/groups/$client/$group', params });
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen onClose={onClose} title="New group">
      <form onSubmit={form.onSubmit((values) => create.mutate({ id: client, ...values }))}>
        <Stack>
          {!isFieldError && <ProblemAlert error={create.error} />}
          <TextInput
            label="Name"
            placeholder="Finance"
            required
            maxLength={100}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <AppChecklist
            client={client}
            description="What all members may open. You can choose them later, too."
            value={form.getValues().apps}
            onChange={(apps) => form.setFieldValue('apps', apps)}
          />
          <DialogButtons action="Create" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};
