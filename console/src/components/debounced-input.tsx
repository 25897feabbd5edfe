import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';

const TYPING_MS = 250;

type Props = {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
};

/** A filter that reports its text when the user pauses typing; undefined if it is empty. */
export const DebouncedInput = ({ label, value, onChange }: Props) => {
  const [text, setText] = useState(value ?? '');
  const [known, setKnown] = useState(value);
  const [reported, setReported] = useState(value);
  const report = useDebouncedCallback((entered: string) => {
    const next = entered.trim() || undefined;
    setReported(next);
    onChange(next);
  }, TYPING_MS);
  // The address was changed elsewhere, such as by a link: show its value. What was typed since a report stays.
  if (value !== known) {
    setKnown(value);
    if (value !== reported) setText(value ?? '');
  }
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={label}
      flex="1 1 8rem"
      maw={320}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        report(currentTarget.value);
      }}
    />
  );
};
