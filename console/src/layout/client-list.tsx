import { Avatar, Combobox, TextInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import classes from './client-list.module.css';

type Props = {
  label: string;
  clients: readonly { id: number; name: string }[];
  /** The id of the chosen client. */
  chosen?: number | undefined;
  /** Called if all clients are chosen. Without it, one must be. */
  onAll?: (() => void) | undefined;
  onChoose: (id: number) => void;
  /** Whether the user has opened the list to type. */
  isFocused?: boolean;
};

const ALL = 'all';
const ALL_CLIENTS = 'All clients';

/** A search field and the clients that match. The arrow keys and Enter choose, too. */
export const ClientList = ({ label, clients, chosen, onAll, onChoose, isFocused = false }: Props) => {
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ opened: true });
  const words = search.trim().toLowerCase();
  const matches = (name: string): boolean => name.toLowerCase().includes(words);
  const found = clients.filter(({ name }) => matches(name));
  const offersAll = onAll !== undefined && matches(ALL_CLIENTS);
  return (
    <Combobox
      store={combobox}
      onOptionSubmit={(value) => (value === ALL ? onAll?.() : onChoose(Number(value)))}
    >
      <Combobox.EventsTarget>
        <TextInput
          label={label}
          placeholder="Search"
          mb="xs"
          autoFocus={isFocused}
          leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
          value={search}
          onChange={({ currentTarget }) => {
            setSearch(currentTarget.value);
            combobox.selectFirstOption();
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options aria-label={label} mah="24rem" className="scrolls">
        {offersAll && (
          <Combobox.Option value={ALL} active={chosen === undefined}>
            {ALL_CLIENTS}
          </Combobox.Option>
        )}
        {found.map(({ id, name }) => (
          <Combobox.Option
            key={id}
            value={String(id)}
            active={id === chosen}
            className={classes.option ?? ''}
          >
            <Avatar size={24} color="green" aria-hidden>
              {name.charAt(0)}
            </Avatar>
            <span>{name}</span>
          </Combobox.Option>
        ))}
        {found.length === 0 && !offersAll && <Combobox.Empty>No client matches.</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
};
