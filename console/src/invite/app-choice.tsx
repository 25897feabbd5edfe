import { Button, Checkbox, Popover, Stack, Text } from '@mantine/core';
import { IconSelector } from '@tabler/icons-react';

export type AppOption = { id: string; slug: string; label: string };

type Props = {
  /** Whose apps are chosen, for the label. */
  label: string;
  options: readonly AppOption[];
  value: string[];
  onChange: (apps: string[]) => void;
  isInvalid?: boolean;
  /** Whether the value was chosen elsewhere. */
  isInherited?: boolean;
};

/** Chooses apps in little space: a button that names them, and a list with boxes. Also lists names that match no app. */
export const AppChoice = ({
  label,
  options,
  value,
  onChange,
  isInvalid = false,
  isInherited = false,
}: Props) => {
  const labels = new Map(options.map((option) => [option.id, option.label]));
  const unknown = value.filter((id) => !labels.has(id));
  const names = value.map((id) => labels.get(id) ?? id).join(', ');
  return (
    <Popover position="bottom-start" trapFocus withinPortal>
      <Popover.Target>
        <Button
          variant="default"
          fullWidth
          fw={400}
          px="sm"
          justify="space-between"
          rightSection={<IconSelector size={16} stroke={1.6} aria-hidden />}
          aria-label={`${label}: ${names || 'No apps'}`}
          bd={`1px solid var(${isInvalid ? '--mantine-color-error' : '--console-field-line'})`}
        >
          <Text span size="sm" truncate {...((isInherited || value.length === 0) && { c: 'dimmed' })}>
            {names || 'No apps'}
          </Text>
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Checkbox.Group value={value} onChange={onChange} aria-label={label}>
          <Stack gap="xs">
            {options.length + unknown.length === 0 && <Text size="sm">This client has no apps.</Text>}
            {/* First, because they must be corrected. */}
            {unknown.map((id) => (
              <Checkbox key={id} value={id} label={`${id} (unknown)`} />
            ))}
            {options.map(({ id, label: name }) => (
              <Checkbox key={id} value={id} label={name} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
};
