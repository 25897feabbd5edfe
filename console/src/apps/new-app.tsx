import { Button, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';

const KINDS = [
  { value: 'link', label: 'It has an address' },
  { value: 'package', label: 'It is a package' },
] as const;

/** `sales-reports` for `Sales reports`. */
const slugOf = (label: string): string =>
  label
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64);

/** The button and the dialog that add an app: one that has only an address, or one from the package store. */
export const NewApp = ({ client }: { client: number | undefined }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const [kind, setKind] = useState<(typeof KINDS)[number]['value']>('link');
  return (
    <>
      <Button onClick={open}>New app</Button>
      <Dialog isOpen={isOpen} onClose={close} title="New app">
        <Stack>
          <SegmentedControl
            aria-label="Kind of app"
            data={[...KINDS]}
            value={kind}
            onChange={(value) => setKind(value === 'package' ? 'package' : 'link')}
          />
          {kind === 'link' ? <LinkForm client={client} onClose={close} /> : <PackageForm onClose={close} />}
        </Stack>
      </Dialog>
    </>
  );
};

const useOpenNew = (onClose: () => void) => {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return async (id: string, label: string): Promise<void> => {
    await queryClient.invalidateQueries(trpc.apps.pathFilter());
    onClose();
    notify(`Added ${label}.`);
    await navigate({ to: '/apps/$id', params: { id } });
  };
};

const LinkForm = ({ client, onClose }: { client: number | undefined; onClose: () => void }) => {
  const clients = useClients();
  const openNew = useOpenNew(onClose);
  const chosen = client ?? (clients.length === 1 ? clients[0]?.id : undefined);
  const form = useForm({
    initialValues: {
      label: '',
      launch_url: '',
      slug: '',
      client: chosen === undefined ? '' : String(chosen),
    },
    validate: { client: (value) => (value === '' ? 'Choose a client.' : null) },
  });
  const { label, slug } = form.values;
  const create = useMutation(
    trpc.apps.create.mutationOptions({
      onSuccess: (app) => openNew(app.id, app.label),
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <form
      onSubmit={form.onSubmit((values) =>
        create.mutate({ ...values, client: Number(values.client), slug: slug || slugOf(label) }),
      )}
    >
      <Stack>
        {!isFieldError && <ProblemAlert error={create.error} />}
        <TextInput label="Name" required maxLength={255} data-autofocus {...form.getInputProps('label')} />
        <TextInput
          label="Address"
          description="Where the app opens. It gets a one-time code that says who opens it."
          placeholder="https://sales.example.com/"
          type="url"
          required
          {...form.getInputProps('launch_url')}
        />
        <TextInput
          label="Name in URLs"
          placeholder={slugOf(label) || 'sales'}
          pattern="[a-z0-9_\-]{1,64}"
          title="1 to 64 characters from a-z, 0-9, _ and -"
          required={label !== '' && slugOf(label) === ''}
          {...form.getInputProps('slug')}
        />
        {clients.length > 1 && (
          <Select
            label="Client"
            required
            searchable
            data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
            {...form.getInputProps('client')}
          />
        )}
        <DialogButtons action="Add app" isPending={create.isPending} onClose={onClose} />
      </Stack>
    </form>
  );
};

/** Fetches the highest version and loads it. */
const PackageForm = ({ onClose }: { onClose: () => void }) => {
  const openNew = useOpenNew(onClose);
  const [slug, setSlug] = useState('');
  const [idempotencyKey] = useState(newIdempotencyKey);
  const add = useMutation({
    mutationFn: async () => {
      const input = { app_slug: slug.trim() };
      await steward.api.appPackages.fetch.mutate(input, { context: { idempotencyKey } });
      await steward.api.appPackages.load.mutate(input);
      const apps = await steward.api.apps.list.query({ search: input.app_slug });
      return apps.find((app) => app.slug === input.app_slug);
    },
    onSuccess: async (app) => {
      if (app) await openNew(app.id, app.label);
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <Stack>
        <ProblemAlert error={add.error} />
        <TextInput
          label="Name of the package"
          description="The highest version is fetched from the package store and loaded."
          placeholder="sales"
          required
          data-autofocus
          value={slug}
          onChange={({ currentTarget: { value } }) => setSlug(value)}
        />
        <Text size="sm" c="dimmed">
          A package gets into the store with “steward apps publish”.
        </Text>
        <DialogButtons action="Fetch and load" isPending={add.isPending} onClose={onClose} />
      </Stack>
    </form>
  );
};
