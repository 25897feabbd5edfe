import { Button, Group } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { PersonInput } from '../components/person-input.tsx';

type Props = { client: number; onCheck: (email: string) => void };

/** Checks whether a person can open the app, even if they are not listed. */
export const CheckPerson = ({ client, onCheck }: Props) => {
  const [text, setText] = useState('');
  const check = (email: string): void => {
    setText('');
    onCheck(email);
  };
  return (
    <form
      aria-label="Check a person"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        check(text.trim().toLowerCase());
      }}
    >
      <Group mb="md" gap="xs">
        <PersonInput
          aria-label="Check a person"
          placeholder="Can someone open it? Name or email address"
          flex="1 1 14rem"
          maw={400}
          among={{ client }}
          value={text}
          onChange={setText}
          onOptionSubmit={check}
        />
        <Button type="submit" variant="default" disabled={!text.includes('@')}>
          Check
        </Button>
      </Group>
    </form>
  );
};
