import { Checkbox, List, Stack, Text } from '@mantine/core';
import { capitalized } from '../components/capitalized.ts';
import { type Role, roleLabel } from '../session/roles.ts';
import { allowedBy, roleSentence } from './role-words.ts';

type Props = {
  /** The roles to choose from. */
  roles: readonly Role[];
  /** Why the user cannot give or end a role; null if they can. */
  refusalOf: (role: Role) => string | null;
  value: string[];
  onChange: (names: string[]) => void;
  error?: string | undefined;
};

/** Chooses roles, each with what it is for. */
export const RoleChoice = ({ roles, refusalOf, ...group }: Props) => (
  <Checkbox.Group label="Roles" {...group}>
    <Stack gap="xs" pt={6}>
      {roles.map((role) => {
        const refusal = refusalOf(role);
        return (
          <Checkbox
            key={role.name}
            value={role.name}
            label={capitalized(roleLabel(role))}
            description={[roleSentence(role), refusal].filter(Boolean).join(' ')}
            disabled={refusal !== null}
          />
        );
      })}
    </Stack>
  </Checkbox.Group>
);

type PreviewProps = {
  /** Who has the roles: `Grace Hopper`. */
  who: string;
  /** What they can do without a role. */
  without: string;
  chosen: readonly string[];
  /** The present roles. */
  held: readonly string[];
};

/** What the chosen roles allow, and what would end. */
export const RolePreview = ({ who, without, chosen, held }: PreviewProps) => {
  const allowed = allowedBy(chosen);
  const ended = allowedBy(held).filter((sentence) => !allowed.includes(sentence));
  return (
    <Stack gap="xs" className="card" component="section" aria-label="Preview" aria-live="polite">
      {allowed.length === 0 ? (
        <Text size="sm">{without}</Text>
      ) : (
        <Sentences title={`${who} can:`} sentences={allowed} />
      )}
      {ended.length > 0 && <Sentences title="No longer:" sentences={ended} />}
    </Stack>
  );
};

const Sentences = ({ title, sentences }: { title: string; sentences: readonly string[] }) => (
  <div>
    <Text size="sm" fw={600}>
      {title}
    </Text>
    <List size="sm">
      {sentences.map((sentence) => (
        <List.Item key={sentence}>{sentence}</List.Item>
      ))}
    </List>
  </div>
);
