import{modules as o}from"./33936.shared.js";import{modules as s}from"./99017.shared.js";const t=1082,d=[1082],m={...o,...s};export{t as id,d as ids,m as modules};
