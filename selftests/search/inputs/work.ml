(* SPDX-License-Identifier: GPL-2.0 *)
module M = Map.Make (String)
let map = List.fold_left (fun m i -> M.add (string_of_int i) (String.make (i mod 50) 'x') m) M.empty (List.init 20000 Fun.id)
let () =
  Gc.compact ();
  Printf.printf "%d %d\n" (M.cardinal map) (M.fold (fun _ v n -> n + String.length v) map 0);
  try failwith "what" with Failure text -> print_endline text
