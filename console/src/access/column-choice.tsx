import { Button, Checkbox, Popover, ScrollArea, Stack } from '@mantine/core';

type Props = {
  /** The kind of columns: `Groups`. */
  name: string;
  options: readonly { value: string; label: string }[];
  chosen: readonly string[];
  onChoose: (chosen: string[]) => void;
};

/** Chooses which columns of one kind the matrix shows. */
export const ColumnChoice = ({ name, options, chosen, onChoose }: Props) =>
  options.length === 0 ? null : (
    <Popover position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default">
          {name}: {chosen.length} of {options.length}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <ScrollArea.Autosize mah="50vh">
          <Checkbox.Group aria-label={`${name} shown as columns`} value={[...chosen]} onChange={onChoose}>
            <Stack gap="xs" p={4}>
              {options.map(({ value, label }) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
