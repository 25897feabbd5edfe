import { Chip, Group, Input } from '@mantine/core';
import { useId } from 'react';
import type { AppRole } from './declared.ts';

type Props = {
  label: string;
  /** The roles that the app declares. */
  roles: readonly AppRole[];
  /** Keys of roles. */
  value: readonly string[];
  onChange: (keys: string[]) => void;
  error?: string | undefined;
};

/** Chooses roles in an app. Roles that the app no longer declares go with the next change. */
export const AppRoleChips = ({ label, roles, value, onChange, error }: Props) => {
  const id = useId();
  const declared = roles.map(({ key }) => key);
  return (
    <Input.Wrapper label={label} labelElement="div" labelProps={{ id }} {...(error && { error })}>
      <Chip.Group multiple value={value.filter((key) => declared.includes(key))} onChange={onChange}>
        <Group gap="xs" role="group" aria-labelledby={id}>
          {roles.map((role) => (
            <Chip key={role.key} value={role.key} size="xs" variant="outline" title={role.description}>
              {role.label || role.key}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  );
};
