import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';

const TYPING_MS = 250;

export type SearchProps = {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  /** Default: the label. */
  placeholder?: string;
  /** The pause after which the text is reported. */
  pauseMs?: number;
};

/** A filter that reports its text when the user pauses typing; undefined if the text is empty. */
export const DebouncedInput = ({
  label,
  value,
  onChange,
  placeholder = label,
  pauseMs = TYPING_MS,
}: SearchProps) => {
  const [text, setText] = useState(value ?? '');
  const [known, setKnown] = useState(value);
  const [reported, setReported] = useState(value);
  const report = useDebouncedCallback((entered: string) => {
    const next = entered.trim() || undefined;
    setReported(next);
    onChange(next);
  }, pauseMs);
  // If the address was changed elsewhere, for example by a link, shows its value. Text typed since the last report stays.
  if (value !== known) {
    setKnown(value);
    if (value !== reported) setText(value ?? '');
  }
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
      flex="1 1 14rem"
      maw={{ sm: 300 }}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        report(currentTarget.value);
      }}
    />
  );
};
