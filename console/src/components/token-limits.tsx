import { Button, MultiSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { SCOPES } from '../../../src/services/access/action-scopes.ts';
import type { Inputs } from '../api.ts';
import { type End, EndChoice, endOf, NO_END } from './end-choice.tsx';

type Limits = { scopes: string[]; networks: string; end: End };

/** The token may do all that its user may do. */
export const NO_LIMITS: Limits = { scopes: [], networks: '', end: NO_END };

export const scopesOf = (names: readonly string[]) => SCOPES.filter((scope) => names.includes(scope));

/** The limits as the service takes them: none for empty inputs. */
export const limitsOf = ({ scopes, networks, end }: Limits): Partial<Inputs['tokens']['createNamed']> => {
  const named = networks.split(/[\s,]+/).filter(Boolean);
  const expires = endOf(end);
  return {
    ...(scopes.length > 0 && { scopes: scopesOf(scopes) }),
    ...(named.length > 0 && { networks: named }),
    ...(expires && { expires_at: expires }),
  };
};

type Props = {
  /** Who has all rights of a token without limits: `you`. */
  owner: string;
  value: Limits;
  onChange: (limits: Limits) => void;
  /** Messages of the service by field. */
  faults: Record<string, string>;
};

type ScopesProps = {
  description: string;
  value: string[];
  onChange: (scopes: string[]) => void;
  error?: string | undefined;
};

export const ScopesInput = (props: ScopesProps) => (
  <MultiSelect
    {...props}
    label="Scopes"
    placeholder={props.value.length === 0 ? 'Search, such as users' : undefined}
    data={SCOPES}
    searchable
    hidePickedOptions
    maxDropdownHeight={220}
    nothingFoundMessage="Nothing matches."
  />
);

/** What a new token may do, from where and until when. Closed at first: a token without limits is as before. */
export const TokenLimits = ({ owner, value, onChange, faults }: Props) => {
  const [isOpen, setOpen] = useState(false);
  if (!isOpen)
    return (
      <Button variant="subtle" size="compact-sm" style={{ alignSelf: 'start' }} onClick={() => setOpen(true)}>
        Limit what it may do
      </Button>
    );
  const networksFault = Object.entries(faults).find(([field]) => field.startsWith('networks'))?.[1];
  return (
    <Stack gap="xs">
      <ScopesInput
        description={`Without a scope, it can do everything that ${owner} can do. “write” does not include “read”.`}
        value={value.scopes}
        onChange={(scopes) => onChange({ ...value, scopes })}
        error={faults.scopes}
      />
      <TextInput
        label="Networks"
        description="Requests from elsewhere are refused. Separate them with commas. Leave empty to allow requests from anywhere."
        placeholder="10.0.0.0/8, 2001:db8::/32"
        value={value.networks}
        onChange={({ currentTarget }) => onChange({ ...value, networks: currentTarget.value })}
        error={networksFault}
      />
      <EndChoice
        label="Ends"
        value={value.end}
        onChange={(end) => onChange({ ...value, end })}
        error={faults.expires_at}
      />
    </Stack>
  );
};
