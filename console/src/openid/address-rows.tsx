import { Box, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import { RemoveButton } from '../components/remove-button.tsx';
import type { OpenidValues } from './openid-values.ts';

/** The limit of the service. */
const MAX_ROWS = 20;

type Props = {
  form: UseFormReturnType<OpenidValues>;
  field: 'redirect_uris' | 'post_logout_redirect_uris';
  legend: string;
  description: string;
  /** The name of a row, before its number: `Redirect address`. */
  rowName: string;
  placeholder: string;
  /** Whether the first row has the focus when it appears. */
  isFocused?: boolean;
};

/** Addresses, one per row. */
export const AddressRows = ({
  form,
  field,
  legend,
  description,
  rowName,
  placeholder,
  isFocused = false,
}: Props) => {
  const rows = form.getValues()[field];
  const error = form.errors[field];
  /** The row that has the focus when it appears. */
  const [added, setAdded] = useState(isFocused ? 0 : null);
  const add = (): void => {
    setAdded(rows.length);
    form.insertListItem(field, '');
  };
  return (
    <Stack gap="xs" component="fieldset" bd="none" p={0} m={0} miw={0}>
      <Text component="legend" size="sm" fw={600} p={0} mb={4}>
        {legend}
      </Text>
      <Text size="xs" c="dimmed">
        {description}
      </Text>
      {rows.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no ids, and their fields are controlled
        <Group key={index} gap="xs" wrap="nowrap" align="flex-start">
          <TextInput
            aria-label={`${rowName} ${index + 1}`}
            placeholder={placeholder}
            flex={1}
            maxLength={2048}
            inputMode="url"
            spellCheck={false}
            autoFocus={index === added}
            {...form.getInputProps(`${field}.${index}`)}
          />
          {/* In the middle of the input, also if an error is below that. */}
          <Box mt={3}>
            <RemoveButton
              label={`Remove ${rowName.toLowerCase()} ${index + 1}`}
              onClick={() => form.removeListItem(field, index)}
            />
          </Box>
        </Group>
      ))}
      {error && (
        <Text size="xs" role="alert" c="var(--mantine-color-error)">
          {error}
        </Text>
      )}
      {rows.length < MAX_ROWS && (
        <div>
          <Button variant="default" size="compact-sm" onClick={add}>
            Add {rowName.toLowerCase()}
          </Button>
        </div>
      )}
    </Stack>
  );
};
