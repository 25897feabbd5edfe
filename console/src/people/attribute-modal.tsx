import { Button, Group, Select, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { steward } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AttributeField } from '../data-permissions/attribute-field.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { SchemaChanges } from '../data-permissions/schema-changes.tsx';
import type { Selected } from './use-selection.ts';

/** The most people whom a preview takes. */
const MAX_PREVIEWED = 1_000;

type Props = {
  title: string;
  client: number;
  selected: Selected;
  onSelect: (change: { attribute: string; value: unknown }) => void;
  onClose: () => void;
};

/** Chooses an attribute of data permissions and its value, with a preview of what it changes for the selected people. */
export const AttributeModal = ({ title, client, selected, onSelect, onClose }: Props) => {
  const { attributes } = useDeclared(client);
  const [key, setKey] = useState<string | null>(null);
  const [value, setValue] = useState<unknown>();
  const attribute = attributes.find((one) => one.key === (key ?? attributes[0]?.key));
  const change = { attribute: attribute?.key ?? '', value };
  const preview = useMutation({
    mutationFn: (emails: string[]) =>
      steward.api.dataPermissions.previewValue.mutate({ id: client, emails, ...change }),
  });
  const emails = selected === 'all' || selected.size > MAX_PREVIEWED ? null : [...selected];
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <Select
          label="Attribute"
          allowDeselect={false}
          data={attributes.map((one) => ({ value: one.key, label: one.title }))}
          value={attribute?.key ?? null}
          onChange={(chosen) => {
            setKey(chosen);
            setValue(undefined);
            preview.reset();
          }}
        />
        {attribute && (
          <AttributeField
            key={attribute.key}
            attribute={{ ...attribute, isRequired: false }}
            value={value}
            fault={undefined}
            onChange={(chosen) => {
              setValue(chosen);
              preview.reset();
            }}
          />
        )}
        <Text size="sm" c="dimmed">
          {value === undefined
            ? 'Without a value, the attribute is removed from the data of these people.'
            : 'Other attributes of these people stay as they are.'}
        </Text>
        <ProblemAlert error={preview.error} />
        {preview.data && <SchemaChanges changes={preview.data} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {emails && (
            <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate(emails)}>
              Preview
            </Button>
          )}
          <Button disabled={!attribute} onClick={() => onSelect(change)}>
            {value === undefined ? 'Remove' : 'Set'}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};
