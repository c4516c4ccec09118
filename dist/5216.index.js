import{modules as o}from"./35216.shared.js";import{modules as s}from"./84554.shared.js";const t=5216,d=[5216],m={...o,...s};export{t as id,d as ids,m as modules};
