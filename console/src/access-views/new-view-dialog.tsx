import { Checkbox, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { useClientOfApp } from '../apps/use-client-of-app.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { objectFault } from '../components/json-object.ts';
import { ObjectInput } from '../components/object-input.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { PersonInput } from '../components/person-input.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AttributeFields, faultsIn } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { LIFETIMES, NEW_VIEW, toInput } from './new-view.ts';

type Props = { app: App; isOpen: boolean; onClose: () => void; onCreated: (id: number) => void };

/** Creates a share link, and then shows its link. */
export const NewViewDialog = ({ app, isOpen, onClose, onCreated }: Props) => {
  const queryClient = useQueryClient();
  const keys = useIdempotencyKeys();
  const form = useForm({
    initialValues: NEW_VIEW,
    validate: { data_permissions: objectFault },
  });
  const stacks = useQuery({ ...trpc.apps.stacks.queryOptions({ app_id: app.id }), enabled: isOpen });
  const { onError, prompt } = usePasswordConfirmation();
  const create = useMutation({
    mutationFn: (input: ReturnType<typeof toInput>) =>
      steward.api.accessViews.create.mutate(input, { context: { idempotencyKey: keys.keyOf(input) } }),
    onSuccess: async ({ id }) => {
      keys.forget();
      form.reset();
      void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
      await queryClient.invalidateQueries(trpc.accessViews.pathFilter());
      onCreated(id);
    },
    onError: (error, input) => {
      form.setErrors(joined(fieldErrors(error)));
      onError(error, () => create.mutate(input));
    },
  });
  const { attributes } = useDeclared(useClientOfApp(app)?.id, app.id);
  const faults = useMemo(() => faultsIn(create.error, 'data_permissions'), [create.error]);
  const isFieldError = Object.keys(fieldErrors(create.error)).length > 0;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={`New share link of ${app.label}`} size="lg" isSticky>
      <form onSubmit={form.onSubmit((values) => create.mutate(toInput(app.slug, values)))}>
        <Stack>
          <PersonInput
            label="Person"
            description="The app shows what this person may see. If empty, anyone with the link is a guest."
            placeholder="Name or email address"
            among={{ app: app.slug }}
            {...form.getInputProps('user')}
          />
          <Group grow align="flex-start">
            <NumberInput
              label="Number of uses"
              description="With 0, the link has no limit."
              min={0}
              {...form.getInputProps('allowed_uses_cnt')}
            />
            <Select
              label="Expires"
              description="How long the link works."
              allowDeselect={false}
              data={LIFETIMES.map(({ label }) => label)}
              {...form.getInputProps('lifetime')}
            />
          </Group>
          <Select
            label="Page group"
            description="The part of the app that is opened."
            placeholder="The start of the app"
            clearable
            data={stacks.data?.map(({ slug, label }) => ({ value: slug, label })) ?? []}
            {...form.getInputProps('stack_slug')}
          />
          {attributes.length > 0 ? (
            <AttributeFields
              attributes={attributes}
              description="If all are empty, the data permissions of the person."
              faults={faults}
              error={faults.length === 0 && form.errors.data_permissions}
              value={form.getValues().data_permissions}
              onChange={(text) => form.setFieldValue('data_permissions', text)}
            />
          ) : (
            <ObjectInput
              label="Data permissions"
              description="A JSON object, such as {&quot;region&quot;: [&quot;North&quot;]}. If empty, the data permissions of the person."
              {...form.getInputProps('data_permissions')}
            />
          )}
          <TextInput
            label="Networks"
            description="Where the link may be used, such as 192.0.2.0/24. If empty, everywhere."
            {...form.getInputProps('allowed_networks')}
          />
          <Checkbox
            label="A new link after each use"
            description="Each time it is opened, the link changes, and you copy the new one here."
            {...form.getInputProps('autorotate', { type: 'checkbox' })}
          />
          {!isFieldError && <ProblemAlert error={withoutConfirmation(create.error)} />}
          <DialogButtons action="Create" isPending={create.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </Dialog>
  );
};
