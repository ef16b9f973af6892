;; SPDX-License-Identifier: GPL-2.0
(require 'json)
(require 'org)
(let ((table (make-hash-table :test 'equal)))
  (dotimes (i 20000) (puthash (format "key %d" i) (make-string (% i 50) ?x) table))
  (princ (format "%d\n" (hash-table-count table))))
(garbage-collect)
(princ (format "%d\n" (length (json-encode (number-sequence 1 5000)))))
(with-temp-buffer
  (dotimes (i 3000) (insert (format "* heading %d :tag:\n text\n" i)))
  (org-mode)
  (princ (format "%d\n" (length (org-map-entries (lambda () (point)))))))
(princ (shell-command-to-string "echo from a child"))
