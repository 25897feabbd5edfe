import { SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import { useClients } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';

const KINDS = [
  { value: 'link', label: 'By its address' },
  { value: 'package', label: 'From a package' },
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

/** `Sales reports` for `https://sales-reports.example.com/`. */
const labelOf = (address: string): string => {
  if (!URL.canParse(address)) return '';
  const [word = ''] = new URL(address).hostname.replace(/^www\./, '').split('.');
  return capitalized(word.replaceAll('-', ' '));
};

type App = { id: string; label: string };
type Props = { client: number | undefined; onAdded: (app: App) => unknown; onClose: () => void };

/** Adds an app that has only an address, or one from the package store. */
export const NewApp = ({ isOpen, ...props }: Props & { isOpen: boolean }) => {
  const [kind, setKind] = useState<(typeof KINDS)[number]['value']>('link');
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title="New app">
      <Stack>
        <SegmentedControl
          aria-label="Kind of app"
          data={[...KINDS]}
          value={kind}
          onChange={(value) => setKind(value === 'package' ? 'package' : 'link')}
        />
        {kind === 'link' ? <LinkForm {...props} /> : <PackageForm {...props} />}
      </Stack>
    </Dialog>
  );
};

const useAdded = ({ onAdded, onClose }: Props) => {
  const queryClient = useQueryClient();
  return async ({ id, label }: App): Promise<void> => {
    await Promise.all(
      [trpc.apps, trpc.attention].map((part) => queryClient.invalidateQueries(part.pathFilter())),
    );
    onClose();
    notify(`Added ${label}.`);
    await onAdded({ id, label });
  };
};

const LinkForm = (props: Props) => {
  const { client, onClose } = props;
  const clients = useClients();
  const added = useAdded(props);
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
  // Name and name in URLs follow the address until they are changed.
  const changeLabel = (label: string): void => {
    const { label: before, slug } = form.getValues();
    if (slug === slugOf(before)) form.setFieldValue('slug', slugOf(label));
    form.setFieldValue('label', label);
  };
  const changeAddress = (address: string): void => {
    const { launch_url: before, label } = form.getValues();
    if (label === labelOf(before)) changeLabel(labelOf(address));
    form.setFieldValue('launch_url', address);
  };
  const create = useMutation(
    trpc.apps.create.mutationOptions({
      onSuccess: added,
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate({ ...values, client: Number(values.client) }))}>
      <Stack>
        {!isFieldError && <ProblemAlert error={create.error} />}
        <TextInput
          label="Address"
          description="Where the app opens. It gets a one-time code that says who opens it."
          placeholder="https://sales.example.com/"
          type="url"
          required
          data-autofocus
          {...form.getInputProps('launch_url')}
          onChange={({ currentTarget: { value } }) => changeAddress(value)}
        />
        <TextInput
          label="Name"
          required
          maxLength={255}
          {...form.getInputProps('label')}
          onChange={({ currentTarget: { value } }) => changeLabel(value)}
        />
        <TextInput
          label="Name in URLs"
          placeholder="sales"
          pattern="[a-z0-9_\-]{1,64}"
          title="1 to 64 characters from a-z, 0-9, _ and -"
          required
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
const PackageForm = (props: Props) => {
  const added = useAdded(props);
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
      if (app) await added(app);
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
          Publish a package to the store with “steward apps publish”.
        </Text>
        <DialogButtons action="Fetch and load" isPending={add.isPending} onClose={props.onClose} />
      </Stack>
    </form>
  );
};
