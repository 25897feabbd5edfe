import { Group, MultiSelect, type OptionsFilter, Radio, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type Outputs, steward } from '../api.ts';
import { EVENT_TYPES, wordsOf } from '../audit/audit-actions.ts';
import { ownerOf, useOwners } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { EventType } from '../live/what-changes.ts';
import { TYPE_CHOICES } from './type-choices.ts';
import { useWebhookRefresh } from './use-webhook-changes.ts';
import type { Webhook } from './webhook-state.tsx';

export type CreatedWebhook = Outputs['webhooks']['create'];

type Values = {
  client: string;
  url: string;
  description: string;
  hears: 'all' | 'some';
  types: EventType[];
};

const valuesOf = (webhook: Webhook | undefined, client: string): Values => {
  const types = EVENT_TYPES.filter((type) => webhook?.types.includes(type));
  const { url = '', description = '' } = webhook ?? {};
  return { client, url, description, hears: webhook?.types.length ? 'some' : 'all', types };
};

const fieldsOf = ({ url, description, hears, types }: Values) => ({
  url,
  description,
  types: hears === 'all' ? [] : types,
});

type FormProps = {
  /** Undefined: a new one. */
  webhook?: Webhook;
  /** The client of a new one. Undefined: the user chooses. */
  client?: number | undefined;
  onClose: () => void;
  onCreated?: (created: CreatedWebhook) => void;
};

/** Creates or edits a webhook. */
export const WebhookDialog = ({ isOpen, ...props }: FormProps & { isOpen: boolean }) => (
  <Dialog
    isOpen={isOpen}
    onClose={props.onClose}
    title={props.webhook ? 'Edit webhook' : 'New webhook'}
    size="lg"
    isSticky
  >
    {isOpen && <WebhookForm {...props} />}
  </Dialog>
);

const WebhookForm = ({ webhook, client, onClose, onCreated }: FormProps) => {
  const owners = useOwners();
  const hasChoice = webhook === undefined && client === undefined && owners.length > 1;
  const refresh = useWebhookRefresh();
  const form = useForm<Values>({
    initialValues: valuesOf(webhook, client === undefined ? (owners[0]?.value ?? '') : String(client)),
    validate: {
      types: (types, { hears }) => (hears === 'some' && types.length === 0 ? 'Choose at least one.' : null),
    },
  });
  const { onError, prompt } = usePasswordConfirmation();
  const save = useMutation({
    mutationFn: async (values: Values): Promise<CreatedWebhook | null> => {
      const fields = fieldsOf(values);
      if (webhook) {
        await steward.api.webhooks.update.mutate({ id: webhook.id, ...fields });
        return null;
      }
      return steward.api.webhooks.create.mutate({ ...fields, client: ownerOf(values.client) });
    },
    onSuccess: (created) => {
      refresh(created ? 'Webhook created.' : 'Webhook changed.');
      onClose();
      if (created) onCreated?.(created);
    },
    onError: (error, values) => {
      form.setErrors(joined(fieldErrors(error)));
      onError(error, () => save.mutate(values));
    },
  });
  const { client: refusal, ...errors } = joined(fieldErrors(save.error));
  return (
    <>
      <form onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <Stack>
          {hasChoice && (
            <Select label="Events of" allowDeselect={false} data={owners} {...form.getInputProps('client')} />
          )}
          {!hasChoice && refusal !== undefined && (
            <Text size="sm" role="alert" c="var(--mantine-color-error)">
              {refusal}
            </Text>
          )}
          <TextInput
            label="URL"
            description="Where events are sent, by POST."
            placeholder="https://hooks.example.com/steward"
            required
            maxLength={2048}
            data-autofocus
            {...form.getInputProps('url')}
          />
          <TextInput
            label="Description"
            description="What receives the events. Shown in the list."
            maxLength={200}
            {...form.getInputProps('description')}
          />
          <Radio.Group label="Events" {...form.getInputProps('hears')}>
            <Group mt={4}>
              <Radio value="all" label="All events" />
              <Radio value="some" label="Only some types" />
            </Group>
          </Radio.Group>
          {form.getValues().hears === 'some' && <TypesInput {...form.getInputProps('types')} />}
          {refusal === undefined && Object.keys(errors).length === 0 && (
            <ProblemAlert error={withoutConfirmation(save.error)} />
          )}
          <DialogButtons action={webhook ? 'Save' : 'Create'} isPending={save.isPending} onClose={onClose} />
        </Stack>
      </form>
      {prompt}
    </>
  );
};

type TypesProps = { value?: EventType[]; onChange?: (types: EventType[]) => void; error?: unknown };

/** Finds types by their names and by their words. */
const TypesInput = ({ value = [], onChange, error }: TypesProps) => (
  <MultiSelect
    label="Types"
    placeholder={value.length === 0 ? 'Search, such as deactivated' : undefined}
    data={TYPE_CHOICES}
    value={value}
    onChange={(chosen) => onChange?.(EVENT_TYPES.filter((type) => chosen.includes(type)))}
    error={error as string | undefined} // as in the form
    searchable
    hidePickedOptions
    maxDropdownHeight={220}
    nothingFoundMessage="Nothing matches."
    filter={filterTypes}
    renderOption={({ option }) => (
      <div>
        <Text size="sm">{wordsOf(option.value)}</Text>
        <Text size="xs" c="dimmed">
          {option.value}
        </Text>
      </div>
    )}
  />
);

const filterTypes: OptionsFilter<EventType> = ({ options, search }) => {
  const words = search.trim().toLowerCase().split(/\s+/);
  const isMatch = ({ value }: { value: EventType }): boolean => {
    const text = `${value} ${wordsOf(value)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return options.map((option) =>
    'group' in option ? { ...option, items: option.items.filter(isMatch) } : option,
  );
};
