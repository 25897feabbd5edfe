import { Checkbox, Combobox, Group, UnstyledButton, useCombobox } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import classes from './filter-chip.module.css';

/** More choices than these get a search. */
const MAX_WITHOUT_SEARCH = 8;

/** Characters in the narrow list of choices. */
const MAX_SHORT = 26;

/** Choices of a group stand together, below its name. */
export type Choice = { value: string; label: string; group?: string };

type Props = {
  label: string;
  /** Undefined while they are loading. */
  choices: readonly Choice[] | undefined;
  /** Undefined: the filter is off. */
  value: string | undefined;
  /** The text of the chip for the value; default: the label of its choice. */
  text?: string | undefined;
  onChange: (value: string | undefined) => void;
  /** For several values: those that are chosen. The list stays open, and `onChange` gets the value that was added or removed. */
  chosen?: readonly string[];
  /** How many values can be chosen. */
  max?: number;
  /** Shown above the choices. */
  hint?: string;
  /** For choices that are loaded on demand. */
  onOpen?: () => void;
  /** For choices that the service finds: called with the typed text, at first empty. */
  onSearch?: (text: string) => void;
  /** Replaces `Nothing matches.` */
  none?: string;
};

/** A part of the filter of a list: `+ App` while it is off, otherwise `App: Sales ×`. */
export const FilterChip = ({
  label,
  choices,
  value,
  text,
  onChange,
  chosen,
  max = Number.POSITIVE_INFINITY,
  hint,
  onOpen,
  onSearch,
  none = 'Nothing matches.',
}: Props) => {
  const [search, setSearch] = useState('');
  const type = (text: string): void => {
    setSearch(text);
    onSearch?.(text);
  };
  const combobox = useCombobox({
    onDropdownOpen: () => {
      onOpen?.();
      combobox.focusSearchInput();
    },
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      type('');
    },
  });
  // Choices that the service found are already filtered.
  const isMatch = (choice: Choice): boolean =>
    onSearch !== undefined ||
    `${choice.group ?? ''} ${choice.label}`.toLowerCase().includes(search.trim().toLowerCase());
  const matches = choices?.filter(isMatch);
  const found = matches?.map((choice) => choice.value).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the store is another object after each rendering
  useEffect(() => {
    if (search !== '' && found) combobox.selectFirstOption();
  }, [search, found]);
  const isOn = (choice: Choice): boolean => (chosen ?? [value]).includes(choice.value);
  const hasSearch = onSearch !== undefined || (choices?.length ?? 0) > MAX_WITHOUT_SEARCH;
  const isOff = value === undefined;
  // The first and the last of several values replace the button that had the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the store is another object after each rendering
  useEffect(() => {
    if (chosen && combobox.dropdownOpened && !hasSearch) combobox.focusTarget();
  }, [isOff]);
  return (
    <Combobox
      store={combobox}
      keepMounted={false}
      width={onSearch || choices?.some(isLong) ? 320 : 240}
      position="bottom-start"
      onOptionSubmit={(option) => {
        if (chosen) return onChange(option);
        onChange(option === value ? undefined : option);
        combobox.closeDropdown();
        combobox.focusTarget();
      }}
    >
      <Chip
        label={label}
        text={value === undefined ? undefined : (text ?? labelOf(choices, value))}
        onToggle={combobox.toggleDropdown}
        onClear={() => onChange(undefined)}
      />
      <Combobox.Dropdown>
        {hasSearch && (
          <Combobox.Search
            aria-label={`Search: ${label}`}
            placeholder="Search"
            value={search}
            onChange={({ currentTarget }) => type(currentTarget.value)}
          />
        )}
        {hint && <Combobox.Header fz="sm">{hint}</Combobox.Header>}
        <Combobox.Options aria-label={label} mah="16rem" className="scrolls">
          {[...Map.groupBy(matches ?? [], ({ group }) => group)].map(([group, options]) => (
            <Combobox.Group key={group ?? ''} label={group}>
              {options.map((choice) => (
                <Combobox.Option
                  key={choice.value}
                  value={choice.value}
                  active={isOn(choice)}
                  disabled={!isOn(choice) && (chosen?.length ?? 0) >= max}
                >
                  {chosen ? (
                    <Group gap="xs" wrap="nowrap">
                      <Checkbox.Indicator size="xs" checked={isOn(choice)} aria-hidden />
                      {choice.label}
                    </Group>
                  ) : (
                    <>
                      {choice.label}
                      {isOn(choice) && <span aria-hidden> ✓</span>}
                    </>
                  )}
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
          {matches?.length === 0 && <Combobox.Empty>{none}</Combobox.Empty>}
          {!matches && <Combobox.Empty>Loading…</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
};

const isLong = ({ label }: Choice): boolean => label.length > MAX_SHORT;

/** Until the label is loaded, the value itself. */
const labelOf = (choices: readonly Choice[] | undefined, value: string): string =>
  choices?.find((choice) => choice.value === value)?.label ?? value;

type ChipProps = { label: string; text: string | undefined; onToggle: () => void; onClear: () => void };

const Chip = ({ label, text, onToggle, onClear }: ChipProps) =>
  text === undefined ? (
    <Combobox.Target targetType="button">
      <UnstyledButton className={classes.chip} onClick={onToggle}>
        <span aria-hidden>+&nbsp;</span>
        {label}
      </UnstyledButton>
    </Combobox.Target>
  ) : (
    <span className={classes.pair}>
      <Combobox.Target targetType="button">
        <UnstyledButton className={classes.value} onClick={onToggle}>
          {label}: {text}
        </UnstyledButton>
      </Combobox.Target>
      <ClearButton label={label} onClear={onClear} />
    </span>
  );

/** A part of the filter that links set, and that cannot be chosen on the screen. */
export const FixedChip = ({
  label,
  children,
  onClear,
}: {
  label: string;
  children: ReactNode;
  onClear: () => void;
}) => (
  <span className={classes.pair}>
    <span className={classes.fixed}>{children}</span>
    <ClearButton label={label} onClear={onClear} />
  </span>
);

const ClearButton = ({ label, onClear }: { label: string; onClear: () => void }) => (
  <UnstyledButton className={classes.clear} aria-label={`Remove the filter: ${label}`} onClick={onClear}>
    <IconX size={14} aria-hidden />
  </UnstyledButton>
);
