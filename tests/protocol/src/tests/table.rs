// SPDX-License-Identifier: GPL-2.0

//! The table and its nodes alone: whose memory is freed when.

use crate::{
    machine,
    prelude::*,
    rhashtable::{Chain, Table, User, KEY_WORDS},
};
use loom::{sync::Arc, thread};
use pinned_init::InPlaceInit;

type Key = [u32; KEY_WORDS];
type Shared = Arc<Pin<Box<Table<u32>>>>;

const KEY: Key = [1; KEY_WORDS];

/// Runs `test` in all orders; at the end of the table all nodes must be free.
fn in_all_orders(test: fn(&Shared)) {
    loom::model(move || {
        machine::reset();
        let table = Arc::new(Box::try_pin_init(Table::new()).expect("there is memory"));
        test(&table);
        drop(table);
        machine::end();
    });
}

fn spawn(table: &Shared, work: fn(&Shared)) -> thread::JoinHandle<()> {
    let table = table.clone();
    thread::spawn(move || work(&table))
}

fn insert_and_remove(table: &Shared) {
    let node = table.get_or_insert(&KEY, 5).unwrap();
    assert_eq!(**node, 5);
    table.remove(&node);
}

#[test]
fn a_lookup_beside_a_removal_finds_the_node_or_nothing() {
    in_all_orders(|table| {
        let node = table.get_or_insert(&KEY, 5).unwrap();
        let other = spawn(table, |table| {
            if let Some(node) = table.get(&KEY) {
                assert_eq!(**node.clone(), 5);
            }
        });
        assert!(table.remove(&node));
        drop(node);
        other.join().unwrap();
        assert_eq!(machine::blocks(), 0);
    });
}

#[test]
fn two_who_insert_and_remove_free_each_node_once() {
    in_all_orders(|table| {
        let other = spawn(table, insert_and_remove);
        insert_and_remove(table);
        other.join().unwrap();
        assert_eq!(machine::blocks(), 0);
    });
}

/// Ends a use, and with it the node's place in the table if it was the last.
fn leave(table: &Shared, user: User<u32>) {
    assert_eq!(**user, 5);
    if let Some(user) = user.leave_unless_last() {
        let node = user.node_ref();
        if user.leave() {
            table.remove(&node);
        }
    }
}

#[test]
fn who_joins_beside_the_last_user_has_the_node_or_nothing() {
    in_all_orders(|table| {
        let user = User::enter(&table.get_or_insert(&KEY, 5).unwrap());
        let other = spawn(table, |table| {
            if let Some(user) = table.join(&KEY) {
                assert!(user.users() > 0);
                leave(table, user);
            }
        });
        leave(table, user);
        other.join().unwrap();
        assert_eq!(machine::blocks(), 0);
    });
}

#[test]
fn users_hold_a_node_that_is_in_no_table() {
    in_all_orders(|table| {
        let node = table.get_or_insert(&KEY, 5).unwrap();
        let user = User::enter(&node);
        let other = User::join(&node).unwrap();
        assert!(table.remove(&node));
        drop(node);
        assert_eq!((**user, user.users()), (5, 2));
        assert!(other.leave_unless_last().is_none());
        drop(user.node_ref());
        assert_eq!(machine::blocks(), 1);
        assert!(user.leave_unless_last().is_some_and(User::leave));
        assert_eq!(machine::blocks(), 0);
    });
}

#[test]
fn two_who_enter_at_once_are_two_users() {
    in_all_orders(|table| {
        let node = table.get_or_insert(&KEY, 5).unwrap();
        let other = spawn(table, |table| {
            let user = User::enter(&table.get(&KEY).unwrap());
            if let Some(user) = user.leave_unless_last() {
                user.leave();
            }
        });
        let user = User::enter(&node);
        drop(node);
        assert_eq!(**user, 5);
        other.join().unwrap();
        assert_eq!(user.users(), 1);
        assert!(user.leave_unless_last().is_some_and(User::leave));
    });
}

#[test]
fn only_one_removes_a_node() {
    in_all_orders(|table| {
        let node = table.get_or_insert(&KEY, 5).unwrap();
        assert!(table.remove(&node));
        assert!(!table.remove(&node));
        assert_eq!(**node, 5);
    });
}

#[test]
fn the_end_of_the_table_frees_what_is_in_it() {
    in_all_orders(|table| {
        table.get_or_insert(&KEY, 5).unwrap();
        assert_eq!(machine::blocks(), 1);
    });
}

#[test]
fn what_is_removed_leaves_the_others_on_the_chain() {
    in_all_orders(|table| {
        let nodes =
            [1, 2, 3].map(|number| table.get_or_insert(&[number; KEY_WORDS], number).unwrap());
        let mut chain = Chain::new();
        for node in &nodes {
            chain.push(node.clone());
        }
        chain.remove(&nodes[1]);
        // It is on none any more.
        chain.remove(&nodes[1]);
        assert_eq!(chain.pop().map(|node| **node), Some(3));
        assert_eq!(chain.pop().map(|node| **node), Some(1));
        assert!(chain.pop().is_none());
    });
}

#[test]
fn a_chain_holds_a_node_once_and_gives_it_back() {
    in_all_orders(|table| {
        let first = table.get_or_insert(&KEY, 1).unwrap();
        let second = table.get_or_insert(&[2; KEY_WORDS], 2).unwrap();
        let mut chain = Chain::new();
        chain.push(first.clone());
        chain.push(second);
        chain.push(first.clone());
        assert_eq!(chain.pop().map(|node| **node), Some(2));
        assert_eq!(chain.pop().map(|node| **node), Some(1));
        assert!(chain.pop().is_none());
        chain.push(first.clone());
        // The end of a chain is the end of its references, and frees the nodes' places.
        drop(chain);
        let mut chain = Chain::default();
        chain.push(first);
        assert!(chain.pop().is_some());
    });
}
