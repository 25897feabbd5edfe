import { Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { steward, trpc } from '../api.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';

type Values = { name: string; domain: string };

/** Creates the site unless it exists, then its client. */
const createClient = async ({ name, domain }: Values) => {
  const sites = await steward.api.sites.list.query({});
  const known = sites.find((site) => site.domain === domain.trim().toLowerCase());
  const site = known ?? (await steward.api.sites.create.mutate({ domain: domain.trim(), name }));
  return steward.api.clients.create.mutate({ name, site: site.id });
};

type Props = { isOpen: boolean; onClose: () => void };

export const NewClient = ({ isOpen, onClose }: Props) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const form = useForm<Values>({ initialValues: { name: '', domain: '' } });
  const create = useMutation({
    mutationFn: createClient,
    onSuccess: async ({ id, name }) => {
      await queryClient.invalidateQueries(trpc.clients.pathFilter());
      notify(`Created ${name}.`);
      onClose();
      await navigate({ to: '/clients/$id', params: { id: String(id) } });
    },
    onError: (error) => {
      const { site, ...messages } = joined(fieldErrors(error));
      form.setErrors(site === undefined ? messages : { ...messages, domain: site });
    },
  });
  const isFieldError = isProblem(create.error) && Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New client">
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <Stack>
          {!isFieldError && <ProblemAlert error={create.error} />}
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Domain"
            description="The host name that its people open, such as apps.example.com."
            required
            {...form.getInputProps('domain')}
          />
          <DialogButtons action="Create" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
};
