import { Button, Checkbox, Popover, Stack } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { COLUMN_NAMES, type ColumnName } from './people-columns.tsx';

type Columns = { shown: ColumnName[]; setShown: (shown: ColumnName[]) => void };

const DEFAULT: ColumnName[] = ['email', 'apps', 'last_login', 'date_joined'];

/** The columns that the user has chosen, kept in this browser. */
export const useColumns = (): Columns => {
  const [shown, setShown] = useLocalStorage({ key: 'people-columns', defaultValue: DEFAULT });
  return { shown, setShown };
};

export const ColumnMenu = ({ shown, setShown }: Columns) => (
  <Popover position="bottom-end">
    <Popover.Target>
      <Button variant="default">Columns</Button>
    </Popover.Target>
    <Popover.Dropdown>
      <Checkbox.Group
        label="Show"
        value={shown}
        onChange={(names) => setShown(Object.keys(COLUMN_NAMES).filter(isIn(names)))}
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

const isIn =
  (names: readonly string[]) =>
  (name: string): name is ColumnName =>
    names.includes(name);
