import { Autocomplete, Box, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { FormButtons, type FormButtonsProps } from '../components/form-buttons.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { useDraft } from '../components/use-draft.ts';
import { show, useFollow } from '../components/use-record-form.tsx';
import { type Directory, useDirectoryRefresh } from './use-directory.ts';

/** The limit of the service. */
const MAX_ROWS = 50;

/** Attributes that directories often send. */
const SUGGESTIONS = [
  {
    group: 'Work',
    items: [
      'title',
      'userType',
      'department',
      'division',
      'organization',
      'costCenter',
      'employeeNumber',
      'manager',
    ],
  },
  {
    group: 'Person',
    items: ['displayName', 'nickName', 'preferredLanguage', 'locale', 'timezone', 'phoneNumbers'],
  },
  { group: 'Place of work', items: ['addresses.locality', 'addresses.region', 'addresses.country'] },
];

type Row = { key: string; path: string };
type Values = { rows: Row[] };

const valuesOf = (attributes: Directory['attributes']): Values => ({
  rows: Object.entries(attributes).map(([key, path]) => ({ key, path })),
});

const isFilled = ({ key, path }: Row): boolean => key.trim() !== '' || path.trim() !== '';

/** Which attributes of the directory become data of people. */
export const AttributeMapping = ({ directory }: { directory: Directory }) => {
  const { form, onSubmit, buttons, fault, prompt } = useMapping(directory);
  const { rows } = form.getValues();
  /** The row that has the focus when it appears. */
  const [added, setAdded] = useState<number | null>(null);
  const add = (): void => {
    setAdded(rows.length);
    form.insertListItem('rows', { key: '', path: '' });
  };
  return (
    <>
      <form className="card" aria-labelledby="directory-attributes" onSubmit={onSubmit}>
        <Stack maw="40rem">
          <Title order={2} size="h3" id="directory-attributes">
            Data of people
          </Title>
          <Text c="dimmed">
            Apps can get what the directory knows about a person, such as the department. Name each value, and
            choose its attribute in the directory.
          </Text>
          {rows.length === 0 && <Text>No data is taken from the directory.</Text>}
          {rows.map((_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no ids, and their fields are controlled
            <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
              <TextInput
                aria-label={`Name ${index + 1}`}
                placeholder="department"
                flex={1}
                miw={0}
                maxLength={100}
                spellCheck={false}
                autoFocus={index === added}
                {...form.getInputProps(`rows.${index}.key`)}
              />
              <Text aria-hidden mt={7}>
                ←
              </Text>
              <Autocomplete
                aria-label={`Attribute of the directory ${index + 1}`}
                placeholder="department"
                flex={1}
                miw={0}
                maxLength={200}
                spellCheck={false}
                data={SUGGESTIONS}
                {...form.getInputProps(`rows.${index}.path`)}
              />
              {/* In the middle of the input, also if an error is below that. */}
              <Box mt={3}>
                <RemoveButton
                  label={`Remove data ${index + 1}`}
                  onClick={() => form.removeListItem('rows', index)}
                />
              </Box>
            </Group>
          ))}
          {fault !== '' && (
            <Text size="sm" role="alert" c="var(--mantine-color-error)">
              {fault}
            </Text>
          )}
          {rows.length < MAX_ROWS && (
            <div>
              <Button variant="default" size="compact-sm" onClick={add}>
                Add data
              </Button>
            </div>
          )}
          {(rows.length > 0 || buttons.isDirty) && <FormButtons {...buttons} save="Save data" />}
        </Stack>
      </form>
      {prompt}
    </>
  );
};

const useMapping = ({ client, attributes }: Directory) => {
  const refresh = useDirectoryRefresh();
  const stored = valuesOf(attributes);
  const form = useForm<Values>({
    initialValues: stored,
    validate: {
      rows: {
        key: (key, { rows }) => faultOfKey(key.trim(), rows),
        path: (path) => (path.trim() === '' ? 'Choose an attribute.' : null),
      },
    },
  });
  useFollow(form, attributes, stored);
  useDraft('directory', form);
  const { onError, prompt } = usePasswordConfirmation();
  const update = useMutation(
    trpc.directory.update.mutationOptions({
      onSuccess: (saved) => {
        show(form, valuesOf(saved.attributes));
        refresh();
      },
      onError: (error, input) => onError(error, () => update.mutate(input)),
    }),
  );
  const submit = ({ rows }: Values): void => {
    const attributes = rows.map(({ key, path }) => [key.trim(), path.trim()]);
    update.mutate({ id: client, attributes: Object.fromEntries(attributes) });
  };
  const fault = Object.values(fieldErrors(update.error)).flat().join(' ');
  const buttons: FormButtonsProps = {
    isDirty: form.isDirty(),
    isSaving: update.isPending,
    isSaved: update.isSuccess,
    // Errors of fields are shown below the rows.
    problem: fault === '' ? withoutConfirmation(update.error) : null,
    onDiscard: () => {
      update.reset();
      show(form, valuesOf(attributes));
    },
  };
  const onSubmit: ReturnType<typeof form.onSubmit> = (event) => {
    event?.preventDefault();
    form.setFieldValue('rows', form.getValues().rows.filter(isFilled));
    form.onSubmit(submit)();
  };
  return { form, onSubmit, buttons, fault, prompt };
};

const faultOfKey = (key: string, rows: readonly Row[]): string | null => {
  if (!/^[\w-]+$/.test(key)) return 'Only letters, digits, _ and -.';
  return rows.filter((row) => row.key.trim() === key).length > 1 ? 'Another row has this name.' : null;
};
