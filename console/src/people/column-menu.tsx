import { Button, Checkbox, Popover, Stack } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconColumns3 } from '@tabler/icons-react';
import { useMemo } from 'react';
import { COLUMN_NAMES, type ColumnName, DEFAULT_COLUMNS, isColumnName } from './people-columns.tsx';

type Columns = { shown: ColumnName[]; setShown: (shown: ColumnName[]) => void };

/** The columns that the user has chosen, stored in this browser. */
export const useColumns = (): Columns => {
  const [shown, setShown] = useLocalStorage({
    key: 'people-table',
    defaultValue: DEFAULT_COLUMNS,
    getInitialValueInEffect: false,
  });
  // The browser may have stored the name of a column that no longer exists.
  return { shown: useMemo(() => shown.filter(isColumnName), [shown]), setShown };
};

export const ColumnMenu = ({ shown, setShown }: Columns) => (
  <Popover position="bottom-end">
    <Popover.Target>
      <Button
        variant="default"
        visibleFrom="sm"
        leftSection={<IconColumns3 size={16} stroke={1.6} aria-hidden />}
      >
        Columns
      </Button>
    </Popover.Target>
    <Popover.Dropdown>
      <Checkbox.Group
        label="Show"
        value={shown}
        onChange={(names) =>
          setShown(
            Object.keys(COLUMN_NAMES)
              .filter(isColumnName)
              .filter((name) => names.includes(name)),
          )
        }
      >
        <Stack gap="xs" mt="xs">
          {Object.entries(COLUMN_NAMES).map(([name, heading]) => (
            <Checkbox key={name} value={name} label={heading} />
          ))}
        </Stack>
      </Checkbox.Group>
    </Popover.Dropdown>
  </Popover>
);
